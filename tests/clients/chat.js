// OpenAI's own npm client against /v1: whole, streamed, an error, and a tool of the client's called over two requests.
// Prints what it saw as one JSON object. Environment: BASE (with /v1), TOKEN.
import OpenAI from "openai";

const client = new OpenAI({ baseURL: process.env.BASE, apiKey: process.env.TOKEN, maxRetries: 0 });
const model = "default";
const seen = {};

seen.models = (await client.models.list()).data.map((one) => one.id);

const history = [{ role: "user", content: "What are tides?" }];
const whole = await client.chat.completions.create({ model, messages: history });
seen.whole = [whole.choices[0].message.content, whole.choices[0].finish_reason, whole.usage.total_tokens > 0];
history.push(whole.choices[0].message, { role: "user", content: "And the moon?" });

const stream = await client.chat.completions.create({
  model,
  messages: history,
  stream: true,
  stream_options: { include_usage: true },
});
let text = "";
let usage = null;
for await (const chunk of stream) {
  text += chunk.choices[0]?.delta?.content ?? "";
  usage = chunk.usage ?? usage;
}
seen.streamed = [text, usage.completion_tokens > 0];

const tools = [
  {
    type: "function",
    function: {
      name: "get_weather",
      parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
    },
  },
];
const asked = [{ role: "user", content: "What is the weather in Porto?" }];
const runner = client.chat.completions.stream({ model, messages: asked, tools });
const { choices } = await runner.finalChatCompletion();
const call = choices[0].message.tool_calls[0];
seen.called = [choices[0].finish_reason, call.function.name, JSON.parse(call.function.arguments)];
asked.push(choices[0].message, { role: "tool", tool_call_id: call.id, content: "Sunny." });
const answer = await client.chat.completions.create({ model, messages: asked, tools });
seen.answered = [answer.choices[0].message.content, answer.choices[0].finish_reason];

try {
  await client.chat.completions.create({ model: "gpt-nonsense", messages: history });
} catch (error) {
  seen.error = [error.constructor.name, error.status, error.type];
}
console.log(JSON.stringify(seen));
