// Long-term memory for SillyTavern, from the browser: the server must list the origin of SillyTavern.
//
// Memories go into copies of messages for one generation; the chat file does not contain them.

const NAME = "hippocampe"
const SECONDS = 5
const DEFAULTS = { enabled: true, url: "http://127.0.0.1:8765", key: "", space: "" }
const MAX_GIVEN = 10_000
/** Messages that no model wrote as an answer: greetings, and those of commands and other extensions. */
const UNASKED = new Set(["first_message", "command", "extension"])
const FIELDS = [
  ["enabled", "checkbox", "Remember"],
  ["url", "text", "URL of the Hippocampe server"],
  ["key", "password", "Key (hippocampe keys create --role write)"],
  ["space", "text", "Space; empty: that of the key"],
]

/** The injections of this page by chat and message, so that later generations repeat them. */
const given = new Map()
const context = () => globalThis.SillyTavern.getContext()

function settings() {
  const { extensionSettings } = context()
  extensionSettings[NAME] = { ...DEFAULTS, ...extensionSettings[NAME] }
  return extensionSettings[NAME]
}

async function call(verb, body) {
  const { url, key, space } = settings()
  const { chatId, name1 } = context()
  const labels = { space, user: name1, channel: chatId }
  const query = new URLSearchParams(Object.entries(labels).filter(([, value]) => value))
  const headers = { "Content-Type": "application/json", Authorization: `Bearer ${key}` }
  const signal = AbortSignal.timeout(SECONDS * 1000)
  const options = { method: "POST", headers, body: JSON.stringify(body), signal, credentials: "omit" }
  const answer = await fetch(`${url.replace(/\/$/, "")}/api/${verb}?${query}`, options).catch((error) => {
    const check = `check that it runs and that its allowed_origins has ${location.origin}`
    throw new Error(`${url} does not answer; ${check} (${error})`)
  })
  const found = await answer.json()
  if (!answer.ok) throw new Error(found.detail)
  return found
}

globalThis.hippocampeInterceptor = async (chat, contextSize, abort, type) => {
  if (!settings().enabled || type === "quiet") return
  const { chatId } = context()
  const name = (index) => JSON.stringify([chatId, chat[index].send_date ?? index, chat[index].mes])
  const said = chat.map((each, index) => (each.is_user && !each.is_system ? index : -1)).filter((n) => n >= 0)
  const last = said.at(-1)
  if (last === undefined) return
  if (!given.has(name(last))) {
    try {
      // A page that was loaded again has lost the earlier injections.
      const fresh = !said.some((index) => given.has(name(index)))
      const injection = await call("before_turn", { message: chat[last].mes, fresh })
      given.set(name(last), injection.text)
      if (given.size > MAX_GIVEN) given.delete(given.keys().next().value)
    } catch (error) {
      console.warn("Hippocampe: a generation goes on without memory", error)
    }
  }
  for (const index of said) {
    const text = given.get(name(index))
    if (text) chat[index] = { ...structuredClone(chat[index]), mes: `${text}\n\n${chat[index].mes}` }
  }
}

/** Store the exchange that ends with a message of the character. */
async function store(index, type) {
  if (!settings().enabled || UNASKED.has(type)) return
  const { chat, chatId } = context()
  const at = Number(index)
  const reply = chat[at]
  const asked = chat.slice(0, at).findLast((each) => each.is_user && !each.is_system)
  if (!asked || !reply || reply.is_user || reply.is_system || !reply.mes) return
  try {
    await call("after_turn", {
      user_message: asked.mes,
      reply: reply.mes,
      assistant: reply.name,
      // A swipe or a regenerated reply replaces the one before; another message may come to the place of a deleted one.
      external_id: `${chatId}:${at}:${asked.send_date}`.slice(-200),
    })
  } catch (error) {
    console.warn("Hippocampe: an exchange could not be stored", error)
  }
}

/** The settings in a drawer, with the classes of SillyTavern, so that its themes apply. */
function showSettings() {
  const place = document.getElementById("extensions_settings2") ?? document.body
  const make = (tag, className, ...children) => {
    const made = Object.assign(document.createElement(tag), { className })
    made.append(...children)
    return made
  }
  const fields = FIELDS.map(([name, type, title]) => {
    const input = Object.assign(document.createElement("input"), { type, name: `${NAME}_${name}` })
    if (type === "checkbox") input.checked = settings()[name]
    else Object.assign(input, { value: settings()[name], className: "text_pole" })
    input.addEventListener("change", () => {
      settings()[name] = type === "checkbox" ? input.checked : input.value.trim()
      context().saveSettingsDebounced()
    })
    return type === "checkbox" ? make("label", "checkbox_label", input, title) : make("label", "", title, input)
  })
  const icon = make("div", "inline-drawer-icon fa-solid fa-circle-chevron-down down")
  const header = make("div", "inline-drawer-toggle inline-drawer-header", make("b", "", "Hippocampe"), icon)
  place.append(make("div", "inline-drawer", header, make("div", "inline-drawer-content", ...fields)))
}

const { eventSource, event_types: events } = context()
eventSource.on(events.MESSAGE_RECEIVED, store)
showSettings()
