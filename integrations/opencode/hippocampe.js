// Long-term memory for OpenCode: copy this file to ~/.config/opencode/plugins/.
//
// It runs `hippocampe hook`, so HIPPOCAMPE_URL, HIPPOCAMPE_SPACE and the others work as for every agent.

import { spawn } from "node:child_process"
import { randomUUID } from "node:crypto"

const SECONDS = 15

/** Run a hook with an event; its output, or nothing if it fails. */
function hook(event, payload, directory) {
  return new Promise((resolve) => {
    const command = process.env.HIPPOCAMPE_COMMAND || "hippocampe"
    const child = spawn(command, ["hook", event], {
      cwd: directory,
      timeout: SECONDS * 1000,
      stdio: ["pipe", "pipe", "inherit"],
    })
    let output = ""
    child.stdout.on("data", (piece) => (output += piece))
    child.on("error", () => resolve(undefined))
    child.on("close", () => {
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

export const Hippocampe = async ({ client, directory }) => {
  const started = new Set()
  return {
    "chat.message": async ({ sessionID }, { message, parts }) => {
      const prompt = said(parts)
      if (!prompt) return
      const texts = []
      if (!started.has(sessionID)) {
        started.add(sessionID)
        texts.push(await hook("session-start", { hook_event_name: "SessionStart" }, directory))
      }
      texts.push(await hook("prompt-submit", { hook_event_name: "UserPromptSubmit", prompt }, directory))
      const text = texts.filter(Boolean).join("\n\n")
      if (!text) return
      const id = `prt_${randomUUID().replaceAll("-", "")}`
      parts.unshift({ id, sessionID, messageID: message.id, type: "text", text, synthetic: true })
    },
    event: async ({ event }) => {
      if (event.type !== "session.idle") return
      const sessionID = event.properties.sessionID
      const { data: messages = [] } = await client.session.messages({ path: { id: sessionID } })
      const last = messages.findLastIndex(({ info, parts }) => info.role === "user" && said(parts))
      if (last < 0) return
      const replies = messages.slice(last + 1).filter(({ info }) => info.role === "assistant")
      const payload = {
        session_id: sessionID,
        timestamp: messages[last].info.id,
        prompt: said(messages[last].parts),
        prompt_response: replies.map(({ parts }) => said(parts)).filter(Boolean).at(-1),
      }
      await hook("stop", payload, directory)
    },
  }
}
