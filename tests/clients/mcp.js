// The official TypeScript clients against /mcp: version 1 (`old`), and version 2 in both ages of the protocol.
// Prints what it saw as one JSON object. Environment: ADDRESS, TOKEN, AGE (old, legacy, auto or a revision).
import { Client as Modern, StreamableHTTPClientTransport as ModernTransport } from "@modelcontextprotocol/client";
import { Client as Old } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const { ADDRESS, TOKEN, AGE } = process.env;
const about = { name: "tests", version: "1" };
const options = { requestInit: { headers: { Authorization: `Bearer ${TOKEN}` } } };
const mode = AGE === "auto" || AGE === "legacy" ? AGE : { pin: AGE };
const client = AGE === "old" ? new Old(about) : new Modern(about, { versionNegotiation: { mode } });
const Transport = AGE === "old" ? OldTransport : ModernTransport;

await client.connect(new Transport(new URL(ADDRESS), options));
const seen = { tools: (await client.listTools()).tools.map((tool) => tool.name) };
seen.found = (await client.callTool({ name: "search", arguments: { query: "bees" } })).structuredContent.results;
const proposal = { content: "Plays the cello", quote: "I play the cello" };
seen.written = (await client.callTool({ name: "remember", arguments: proposal })).structuredContent.status;
seen.wrong = (await client.callTool({ name: "fetch", arguments: { id: "memory-999999" } })).isError;
seen.spaces = JSON.parse((await client.readResource({ uri: "commonplace://spaces" })).contents[0].text);
seen.version = client.getNegotiatedProtocolVersion?.() ?? null;
await client.close();
console.log(JSON.stringify(seen));
