"""What other tools do with the same requests to the same server, in the same run."""
