"""What the gateway counts, traces and logs about itself."""
