import { signal } from '@preact/signals'
import {
  type Carrier,
  type Connection,
  type Content,
  type Descriptor,
  Followers,
  listKey,
  McpError,
} from './carrier.ts'
import { stayConnected } from './connection.ts'
import type { Login } from './login.ts'
import { ask, listen } from './mcp-client.ts'

/** More files than anybody scrolls through. */
const maxPages = 4
/** Two keep-alives of the server, and some more. */
const silenceMs = 70_000
const clientsUri = 'server://clients'

/** Reads and follows over `/mcp` of the page's own server. */
export function createHttpCarrier(login: Login): Carrier {
  const connection = signal<Connection>({ kind: 'connecting' })
  const schemes = signal<ReadonlySet<string>>(new Set())
  const followers = new Followers()

  async function read(uri: string): Promise<Content> {
    const { contents } = await ask('resources/read', { uri })
    const [content] = contents as Content[]
    if (content === undefined) throw new Error(`${uri} has no content`)
    return content
  }

  async function readSchemes(): Promise<void> {
    const { resourceTemplates } = await ask('resources/templates/list', {})
    const templates = resourceTemplates as { uriTemplate: string }[]
    schemes.value = new Set(templates.map(({ uriTemplate }) => schemeOf(uriTemplate)))
  }

  // The clients are in no list, and not for keys that may only read.
  const isServed = (key: string) =>
    key === listKey || key === clientsUri || schemes.value.has(schemeOf(key))

  /** Reads one stream to its end. */
  async function follow(stopped: AbortSignal): Promise<never> {
    const silent = new AbortController()
    const signal = AbortSignal.any([stopped, silent.signal])
    let silence = 0
    const heardNow = () => {
      clearTimeout(silence)
      silence = window.setTimeout(() => silent.abort(new Error('the server is silent')), silenceMs)
    }
    heardNow()
    try {
      // Another tab may have logged in or out.
      await login.check()
      signal.throwIfAborted()
      // A server that was started again may serve other resources.
      await readSchemes()
      await listen(
        [...followers.uris].filter(key => key !== listKey && isServed(key)),
        message => {
          heardNow()
          if (message !== null) void heard(message.method, message.params?.uri, signal)
        },
        signal,
      )
    } catch (error) {
      silent.signal.throwIfAborted()
      throw error instanceof McpError ? error : new Error('the server cannot be reached')
    } finally {
      clearTimeout(silence)
      silent.abort()
    }
    throw new Error('the server has stopped')
  }

  async function heard(method: unknown, uri: unknown, stopped: AbortSignal): Promise<void> {
    switch (method) {
      case 'notifications/resources/updated':
        return followers.notify(String(uri))
      case 'notifications/resources/list_changed':
        // An application came or left.
        await readSchemes().catch(() => {})
        return followers.notify(listKey)
      case 'notifications/subscriptions/acknowledged':
        // Updates may have been missed, and resources may have come or gone.
        await readSchemes().catch(() => {})
        if (stopped.aborted) return
        connection.value = { kind: 'live' }
        for (const key of followers.uris) if (isServed(key)) followers.notify(key)
    }
  }

  // A browser opens six connections to a server, and a stream takes one: hidden tabs have none.
  const isShown = signal(!document.hidden)
  document.addEventListener('visibilitychange', () => (isShown.value = !document.hidden))
  const isDue = () => {
    // What was refused before a login may be allowed after it: it begins again.
    void login.isLoggedIn.value
    return isShown.value
  }
  stayConnected(connection, isDue, follow)

  return {
    connection,
    schemes,
    read,
    async list() {
      const found: Descriptor[] = []
      let cursor: unknown
      for (let page = 0; page < maxPages; page++) {
        const result = await ask('resources/list', { cursor })
        found.push(...(result.resources as Descriptor[]))
        cursor = result.nextCursor
        if (cursor === undefined) break
      }
      return found
    },
    follow: (uri, changed) => followers.add(uri, changed),
  }
}

function schemeOf(uri: string): string {
  return uri.slice(0, uri.indexOf(':'))
}
