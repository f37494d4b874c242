"""What the black-box tests share: a raw client, scripted upstream servers, a home for the gateway under test."""
