"""What is shown to people and programs: each feature's JSON body and its table, said once."""
