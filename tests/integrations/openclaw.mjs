// Calls the plugin of OpenClaw as its runtime does, and prints what it registers and returns.

import { pathToFileURL } from "node:url"

const [path, url, key] = process.argv.slice(2)
const { default: plugin } = await import(pathToFileURL(path).href)
const hooks = {}
const tools = {}
const warnings = []
let capability
plugin.register({
  pluginConfig: { url, ...(key && { key }), user: "paul" },
  logger: { warn: (text) => warnings.push(text) },
  on: (name, handler) => (hooks[name] = handler),
  registerTool: (factory, { name }) => (tools[name] = factory({ sessionKey: "agent:main:main" })),
  registerMemoryCapability: (registered) => (capability = registered),
})

async function turn(message, { sessionKey = "agent:main:main", trigger = "user", success = true, ...more } = {}) {
  const ctx = { runId: `run-${message}`, sessionKey, trigger, ...more }
  const event = { prompt: `[envelope] ${message}`, currentUserMessage: message, messages: [] }
  const given = await hooks.before_prompt_build(event, ctx)
  const content = [{ type: "text", text: `Answer to ${message}` }]
  const messages = [{ role: "user", content: event.prompt }, { role: "assistant", content }]
  await hooks.agent_end({ runId: ctx.runId, messages, success }, ctx)
  return given?.prependContext ?? ""
}

const asked = await turn("What does Paul drink?")
const group = await turn("What does Paul drink here?", { sessionKey: "agent:main:discord:group:7", senderId: "zoe" })
const heartbeat = await turn("Anything to do?", { trigger: "heartbeat" })
const apart = []
for (const ctx of [
  { sessionKey: "agent:main:subagent:7" },
  { sessionKey: "agent:main:dashboard:incognito-7" },
  { inputProvenance: { kind: "inter_session", sourceTool: "subagent_announce" } },
  { trigger: "manual" },
]) apart.push(await turn("What does Paul drink alone?", ctx))
const failed = await turn("This fails", { success: false })
const used = {}
for (const [name, text] of [
  ["hippocampe_remember", "The boat of Paul is at Nantes"],
  ["hippocampe_search", "boat"],
  ["hippocampe_forget", "the boat of Paul"],
  ["hippocampe_remember", ""],
]) {
  const { content, details } = await tools[name].execute("call-1", { text })
  used[`${name} ${text}`] = { details, same: content[0].text === JSON.stringify(details) }
}
console.log(JSON.stringify({ asked, group, heartbeat, apart, failed, used, warnings, guidance: capability.promptBuilder() }))
