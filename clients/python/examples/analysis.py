"""Variables persist between calls: one call builds a data frame, the next ones use it."""

from husk import SandboxManager

manager = SandboxManager()
session = manager.create_session(runtime="python", dependencies={"pandas": "", "matplotlib": ""})

manager.execute_code(session.session_id, """
import pandas as pd
df = pd.DataFrame({"city": ["Bonn", "Köln", "Ulm"], "people": [336, 1085, 128]})
""")
result = manager.execute_code(session.session_id, "df.shape")
print("shape:", result.result["text/plain"])

result = manager.execute_code(session.session_id, 'print(df.people.sum()); df.plot.bar(x="city"); None')
print("sum:", result.stdout.strip())
print("pictures:", [display["type"] for display in result.display_outputs])

result = manager.execute_code(session.session_id, "1 / 0")
print("error:", result.success, result.error["type"])

print("stopped:", manager.stop_session(session.session_id).success)
