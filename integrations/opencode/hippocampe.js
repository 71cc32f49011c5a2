// Long-term memory for OpenCode: copy this file to ~/.config/opencode/plugins/.
//
// It runs `hippocampe hook`, so HIPPOCAMPE_URL, HIPPOCAMPE_SPACE and the others work as for every agent.

import { spawn } from "node:child_process"
import { randomUUID } from "node:crypto"

const SECONDS = 15

/** Run a hook with an event; its output, or nothing if it fails, and then a warning. */
function hook(event, payload, directory, warn) {
  return new Promise((resolve) => {
    const command = process.env.HIPPOCAMPE_COMMAND || "hippocampe"
    const child = spawn(command, ["hook", event], { cwd: directory })
    setTimeout(() => child.kill(), SECONDS * 1000).unref()
    let output = ""
    let problem = ""
    child.stdout.setEncoding("utf8").on("data", (piece) => (output += piece))
    child.stderr.setEncoding("utf8").on("data", (piece) => (problem += piece))
    child.on("error", ({ code }) => {
      warn(`hippocampe: the command ${command} cannot be started (${code}): name it in HIPPOCAMPE_COMMAND.`)
      resolve(undefined)
    })
    child.on("close", (_, signal) => {
      if (signal) problem = `hippocampe: ${event} took longer than ${SECONDS} seconds: run hippocampe doctor.`
      if (problem.trim()) warn(problem.trim())
      try {
        resolve(JSON.parse(output).hookSpecificOutput.additionalContext)
      } catch {
        resolve(undefined)
      }
    })
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify({ cwd: directory, ...payload }))
  })
}

/** The words of a person or of the model in a message. */
function said(parts) {
  return parts
    .filter((part) => part.type === "text" && !part.synthetic && !part.ignored)
    .map((part) => part.text)
    .join("\n")
    .trim()
}

/** An id that sorts before those of OpenCode, which sorts the parts of a message by their ids: they begin with a time. */
function firstId() {
  return `prt_${"0".repeat(12)}${randomUUID().replaceAll("-", "").slice(0, 14)}`
}

export const Hippocampe = async ({ client, directory }) => {
  const started = new Set()
  const compacted = new Set()
  let warned

  /** Show a warning: the terminal belongs to OpenCode, so none is written to it. */
  function warn(message) {
    if (message === warned) return
    warned = message
    client.app.log({ body: { service: "hippocampe", level: "warn", message } }).catch(() => {})
    client.tui.showToast({ body: { message, variant: "warning" } }).catch(() => {})
  }

  /** The messages of a session so far. */
  async function messagesOf(id) {
    const { data } = await client.session.messages({ path: { id } }).catch(() => ({}))
    return data ?? []
  }

  /** Whether a session is the task of an agent: then its prompts are not those of a person. */
  async function isTask(id) {
    const { data } = await client.session.get({ path: { id } }).catch(() => ({}))
    return Boolean(data?.parentID)
  }

  /** Run the hook of a session's start, if it has not run in this process or the context was compacted since. */
  async function start(sessionID) {
    const fresh = compacted.delete(sessionID)
    if (started.has(sessionID) && !fresh) return
    started.add(sessionID)
    const resumed = !fresh && (await messagesOf(sessionID)).length
    const source = fresh ? "compact" : resumed ? "resume" : "startup"
    return hook("session-start", { hook_event_name: "SessionStart", source }, directory, warn)
  }

  return {
    "chat.message": async ({ sessionID }, { message, parts }) => {
      const prompt = said(parts)
      if (!prompt || (await isTask(sessionID))) return
      const event = { hook_event_name: "UserPromptSubmit", prompt }
      const texts = [await start(sessionID), await hook("prompt-submit", event, directory, warn)]
      const text = texts.filter(Boolean).join("\n\n")
      if (!text) return
      parts.unshift({ id: firstId(), sessionID, messageID: message.id, type: "text", text, synthetic: true })
    },
    event: async ({ event }) => {
      const sessionID = event.properties?.sessionID
      if (event.type === "session.compacted") compacted.add(sessionID)
      if (event.type !== "session.idle" || (await isTask(sessionID))) return
      const messages = await messagesOf(sessionID)
      const last = messages.findLastIndex(({ info, parts }) => info.role === "user" && said(parts))
      if (last < 0) return
      const replies = messages.slice(last + 1).filter(({ info }) => info.role === "assistant")
      const reply = replies.map(({ parts }) => said(parts)).filter(Boolean).at(-1)
      if (!reply) return
      const payload = {
        session_id: sessionID,
        timestamp: messages[last].info.id,
        prompt: said(messages[last].parts),
        prompt_response: reply,
      }
      await hook("stop", payload, directory, warn)
    },
  }
}
