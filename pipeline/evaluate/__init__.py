"""How agents are measured: situations are played, audited and counted, with intervals."""
