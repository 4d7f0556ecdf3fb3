// OpenAI's own npm client against /v1/responses: whole, streamed behind a response, a schema, a tool of the client's,
// one in the background that is cancelled, an error. Prints what it saw as one JSON object. Environment: BASE, TOKEN.
import OpenAI from "openai";

const client = new OpenAI({ baseURL: process.env.BASE, apiKey: process.env.TOKEN, maxRetries: 0 });
const model = "default";
const seen = {};

const whole = await client.responses.create({ model, input: "What are tides?", metadata: { trip: "7" } });
seen.whole = [whole.output_text, whole.status, whole.usage.total_tokens > 0, whole.metadata.trip];
seen.again = (await client.responses.retrieve(whole.id)).output_text;

const stream = client.responses.stream({ model, input: "And the moon?", previous_response_id: whole.id });
let text = "";
for await (const event of stream) {
  if (event.type === "response.output_text.delta") text += event.delta;
}
const final = await stream.finalResponse();
seen.streamed = [text, final.output_text === text, final.conversation.id === whole.conversation.id];

const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const format = { type: "json_schema", name: "trip", schema };
const formed = await client.responses.parse({ model, input: "Where to?", text: { format } });
seen.formed = JSON.parse(formed.output_text);

const tools = [{ type: "function", name: "get_weather", parameters: schema, strict: false }];
const asked = await client.responses.create({ model, input: "What is the weather in Porto?", tools });
const call = asked.output.find((item) => item.type === "function_call");
seen.called = [call.name, JSON.parse(call.arguments)];
const input = [{ type: "function_call_output", call_id: call.call_id, output: "Sunny." }];
const answer = await client.responses.create({ model, input, tools, conversation: asked.conversation.id });
seen.answered = [answer.output_text, answer.status];

const slow = await client.responses.create({ model, input: "Count slowly.", background: true });
seen.background = [slow.status, (await client.responses.cancel(slow.id)).status];

try {
  await client.responses.create({ model, input: "Hello", conversation: "elsewhere" });
} catch (error) {
  seen.error = [error.constructor.name, error.status, error.param];
}
console.log(JSON.stringify(seen));
