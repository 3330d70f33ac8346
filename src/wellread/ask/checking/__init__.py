"""The steps of checking a claim: quotations, facts, speakers, the judge, and what follows."""
