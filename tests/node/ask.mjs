// Asks one question with one client: node ask.mjs CLIENT BASE_URL QUESTION. Prints the answer.

import { createOpenAI } from "@ai-sdk/openai";
import { Agent, OpenAIProvider, Runner, setTracingDisabled, tool as agentTool } from "@openai/agents";
import { generateText, stepCountIs, streamText, tool as aiTool } from "ai";
import OpenAI from "openai";
import { z } from "zod";

const [client, baseURL, question] = process.argv.slice(2);
const options = { baseURL, apiKey: "any" };
const defaultHeaders = { "X-Hippocampe-User": "dev" };
const openai = new OpenAI({ ...options, defaultHeaders, maxRetries: 0 });
const weather = {
  description: "The weather of a city.",
  parameters: z.object({ city: z.string() }),
  execute: async ({ city }) => `pluie à ${city}`,
};

setTracingDisabled(true);

function agentOptions() {
  const agent = new Agent({
    name: "Eko",
    instructions: "Be brief.",
    model: "scripted",
    tools: [agentTool({ name: "weather", ...weather })],
  });
  const runner = new Runner({ modelProvider: new OpenAIProvider({ openAIClient: openai }) });
  return [runner, agent];
}

function aiOptions() {
  const { parameters: inputSchema, ...rest } = weather;
  return {
    model: createOpenAI({ ...options, headers: defaultHeaders })("scripted"),
    prompt: question,
    tools: { weather: aiTool({ inputSchema, ...rest }) },
    stopWhen: stepCountIs(3),
    maxRetries: 0,
  };
}

const clients = {
  openai: async () => {
    const answer = await openai.responses.create({ model: "scripted", input: question });
    return answer.output_text;
  },
  "openai stream": async () => {
    const stream = openai.responses.stream({ model: "scripted", input: question });
    return (await stream.finalResponse()).output_text;
  },
  "openai chat": async () => {
    const messages = [{ role: "user", content: question }];
    const stream = openai.chat.completions.stream({ model: "scripted", messages });
    return stream.finalContent();
  },
  agents: async () => {
    const [runner, agent] = agentOptions();
    return (await runner.run(agent, question)).finalOutput;
  },
  "agents stream": async () => {
    const [runner, agent] = agentOptions();
    const result = await runner.run(agent, question, { stream: true });
    await result.completed;
    return result.finalOutput;
  },
  ai: async () => (await generateText(aiOptions())).text,
  "ai stream": async () => await streamText(aiOptions()).text,
};

process.stdout.write(await clients[client]());
