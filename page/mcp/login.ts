import { signal, type ReadonlySignal } from '@preact/signals'
import { McpError } from './carrier.ts'

const sessionPath = '/page/session'
/** Tokens are renewed before they expire. */
const earlyMs = 60_000
/** Only says that a session may exist: the session itself is in a cookie that scripts cannot read. */
const hintKey = 'service-page.session'
const probeKey = 'service-page.probe'

interface Token {
  readonly text: string
  /** By the clock that no one sets. */
  readonly untilMs: number
}

/** `RequestInit` with plain headers. */
interface FetchInit extends RequestInit {
  readonly headers?: Readonly<Record<string, string>>
}

interface TokenAnswer {
  readonly token: string
  readonly expires_in: number
  readonly notes: boolean
}

/**
 * The page's session with the server, made from a one-time link or a key, its short tokens, and the
 * requests that carry them.
 */
export class Login {
  readonly #isLoggedIn = signal(false)
  readonly #mayNote = signal(false)
  readonly #tokens = signal(0)
  #token: Token | null = null
  #asking: Promise<Token | null> | null = null

  constructor() {
    // Another tab has logged in.
    window.addEventListener('storage', ({ key, newValue }) => {
      if (key === hintKey && newValue !== null) void this.token().catch(() => null)
    })
  }

  get isLoggedIn(): ReadonlySignal<boolean> {
    return this.#isLoggedIn
  }

  /** Moves on with each token: what was refused before may be allowed now. */
  get tokens(): ReadonlySignal<number> {
    return this.#tokens
  }

  /** May it make and settle notes? A login by key may not: agents hold keys, too. */
  get mayNote(): ReadonlySignal<boolean> {
    return this.#mayNote
  }

  /** Null without a session. `refused` is a token that the server no longer takes. */
  async token(refused?: string): Promise<string | null> {
    const known = this.#token
    if (known !== null && known.text !== refused && known.untilMs > performance.now())
      return known.text
    if (known === null && !hasHint()) return null
    this.#asking ??= this.#ask().finally(() => (this.#asking = null))
    return (await this.#asking)?.text ?? null
  }

  /**
   * `fetch` with the token, if there is one. Throws `McpError` when the server refuses, `Error` when
   * it cannot be reached.
   */
  async fetch(path: string, init: FetchInit = {}): Promise<Response> {
    const token = await this.token()
    let response = await reach(path, withToken(init, token))
    // A token lasts for minutes. After a restart of the server none may be known, or needed.
    if (response.status === 401 && token !== null) {
      response = await reach(path, withToken(init, await this.token(token)))
    }
    if (!response.ok) throw await refusalOf(response)
    return response
  }

  /** Throws `McpError` when the link was used before or is too old. */
  useCode(code: string): Promise<void> {
    return this.#start({ body: JSON.stringify({ code }) })
  }

  /** Throws `McpError` for an unknown key. */
  useKey(key: string): Promise<void> {
    return this.#start({ headers: { Authorization: `Bearer ${key}` } })
  }

  async logOut(): Promise<void> {
    const response = await send('DELETE', sessionPath)
    if (!response.ok) throw await refusalOf(response)
    this.#forget()
  }

  async #start({
    body = '{}',
    headers = {},
  }: {
    body?: string
    headers?: Record<string, string>
  }): Promise<void> {
    const response = await send('POST', sessionPath, {
      body,
      headers: { 'Content-Type': 'application/json', ...headers },
    })
    if (!response.ok) throw await refusalOf(response)
    setHint(true)
    this.#token = null
    await this.token()
  }

  async #ask(): Promise<Token | null> {
    const response = await send('POST', `${sessionPath}/token`)
    if (response.status === 401 || response.status === 403) this.#forget()
    if (!response.ok) return null
    const { token, expires_in, notes } = (await response.json()) as TokenAnswer
    this.#token = { text: token, untilMs: performance.now() + expires_in * 1000 - earlyMs }
    this.#isLoggedIn.value = true
    this.#mayNote.value = notes
    this.#tokens.value++
    return this.#token
  }

  #forget(): void {
    setHint(false)
    this.#token = null
    this.#isLoggedIn.value = false
    this.#mayNote.value = false
  }
}

function send(
  method: string,
  path: string,
  { body, headers = {} }: { body?: string; headers?: Record<string, string> } = {},
): Promise<Response> {
  return reach(path, {
    method,
    headers: { 'Service-Page': '1', ...headers },
    ...(body !== undefined && { body }),
    credentials: 'same-origin',
    cache: 'no-store',
  })
}

/** `fetch`, whose own error is not for people. */
async function reach(address: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(address, init)
  } catch {
    throw new Error('the server cannot be reached')
  }
}

function withToken(init: FetchInit, token: string | null): RequestInit {
  const headers = { ...init.headers, ...(token !== null && { Authorization: `Bearer ${token}` }) }
  return { ...init, headers, credentials: 'omit' }
}

/** What a server says of a refusal: a JSON-RPC error, an OAuth error, or problem details. */
async function refusalOf(response: Response): Promise<McpError> {
  const body: unknown = await response.json().catch(() => null)
  const { error, error_description, detail } = (body ?? {}) as Record<string, unknown>
  const { message } = (error ?? {}) as { message?: unknown }
  const said = [message, error_description, detail].find(each => typeof each === 'string')
  return new McpError(said ?? `the server answered ${response.status}`, response.status)
}

/** Storage may be full or switched off: then each page asks. */
function hasHint(): boolean {
  try {
    if (localStorage.getItem(hintKey) !== null) return true
    localStorage.setItem(probeKey, probeKey)
    localStorage.removeItem(probeKey)
    return false
  } catch {
    return true
  }
}

function setHint(isSet: boolean): void {
  try {
    if (isSet) localStorage.setItem(hintKey, '1')
    else localStorage.removeItem(hintKey)
  } catch {
    // Without storage there is no hint.
  }
}
