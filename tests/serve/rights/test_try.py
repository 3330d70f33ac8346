import time
from tests.serve.rights.conftest import foreign_names, both
async def test_it(rights_homes, tmp_path):
  t=time.time()
  async with both(rights_homes, tmp_path) as (mixed, alone):
    print(time.time()-t)
    print(foreign_names(mixed.kb))
    for path in ("/healthz","/api/documents","/api/search?query=ferry","/library?format=json"):
        t=time.time()
        a=await mixed.client.get(path); b=await alone.client.get(path)
        print(path, a.status_code, b.status_code, a.text==b.text, time.time()-t)
        print(a.text[:500])
    for q in ("When does the ferry leave on Sundays?","How many documents are there?","What happened to the Osprey?"):
        t=time.time()
        a=await mixed.client.post("/api/ask",json={"question":q}); b=await alone.client.post("/api/ask",json={"question":q})
        print(q, a.status_code, b.status_code, a.json().get("answer"), b.json().get("answer"), time.time()-t)
