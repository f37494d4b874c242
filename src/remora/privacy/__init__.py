"""What must not leave: secrets and personal data in logs, metrics, traces and output."""
