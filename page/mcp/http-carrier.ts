import { effect, signal } from '@preact/signals'
import type { Carrier, Connection, Content, Descriptor } from './carrier.ts'
import { listKey } from './carrier.ts'
import type { Login } from './login.ts'
import { McpClient } from './mcp-client.ts'
import { shareStream } from './shared-stream.ts'
import { keepListening, type StreamEvent } from './stream.ts'

/** More files than anybody scrolls through. */
const maxPages = 4
const clientsUri = 'server://clients'
/** All that screens follow. */
const followed = ['scene://current', 'notes://open', 'gateway://instances', clientsUri]

/** Reads and follows over `/mcp` of the page's own server. */
export function createHttpCarrier(login: Login): Carrier {
  const client = new McpClient(refused => login.token(refused))
  const connection = signal<Connection>({ kind: 'connecting' })
  const schemes = signal<ReadonlySet<string>>(new Set())
  const followers = new Map<string, Set<() => void>>()
  const tell = (key: string) => followers.get(key)?.forEach(changed => changed())

  /** The newest event that says whether there is a stream. */
  let state: StreamEvent | null = null

  function told(event: StreamEvent): void {
    if (event.kind !== 'updated' && event.kind !== 'listChanged') state = event
    switch (event.kind) {
      case 'updated':
        return tell(event.uri)
      case 'listChanged':
        // An application came or left.
        void readSchemes().then(() => tell(listKey))
        return
      case 'open':
        // Updates may have been missed, and the server may be another one.
        void readSchemes().then(() => {
          if (state !== event) return
          connection.value = { kind: 'live' }
          for (const key of followers.keys()) if (isServed(key)) tell(key)
        })
        return
      case 'paused':
        connection.value = { kind: 'connecting' }
        return
      default:
        connection.value = event
    }
  }

  async function read(uri: string): Promise<Content> {
    const { contents } = await client.request('resources/read', { uri })
    const [content] = contents as Content[]
    if (content === undefined) throw new Error(`${uri} has no content`)
    return content
  }

  async function schemesNow(): Promise<ReadonlySet<string>> {
    const { resourceTemplates } = await client.request('resources/templates/list', {})
    const templates = resourceTemplates as { uriTemplate: string }[]
    // In no list of a gateway, and not for keys that may only read.
    const isTold = await read(clientsUri).then(
      () => true,
      () => false,
    )
    const uris = [...templates.map(each => each.uriTemplate), ...(isTold ? [clientsUri] : [])]
    return new Set(uris.map(schemeOf))
  }

  function isServed(key: string): boolean {
    return key === listKey || schemes.value.has(schemeOf(key))
  }

  /** When it fails, the connection is lost, and they are read again once it is back. */
  async function readSchemes(): Promise<void> {
    schemes.value = await schemesNow().catch(() => schemes.value)
  }

  async function wanted(): Promise<readonly string[]> {
    const served = await schemesNow()
    return followed.filter(uri => served.has(schemeOf(uri)))
  }

  shareStream({
    told,
    listen: (heard, ended) =>
      keepListening({ client, wanted, told: heard, loginChanged: nextLogin(login) }, ended),
  })

  return {
    connection,
    schemes,
    read,
    async list() {
      const found: Descriptor[] = []
      let cursor: unknown
      for (let page = 0; page < maxPages; page++) {
        const result = await client.request(
          'resources/list',
          cursor === undefined ? {} : { cursor },
        )
        found.push(...(result.resources as Descriptor[]))
        cursor = result.nextCursor
        if (cursor === undefined) break
      }
      return found
    },
    follow(uri, changed) {
      const ofUri = followers.get(uri) ?? new Set()
      followers.set(uri, ofUri.add(changed))
      return () => ofUri.delete(changed)
    },
  }
}

function schemeOf(uri: string): string {
  return uri.slice(0, uri.indexOf(':'))
}

/** Resolves at the next login. */
function nextLogin(login: Login) {
  return (signal: AbortSignal): Promise<void> =>
    new Promise(resolve => {
      const before = login.tokens.value
      const stop = effect(() => {
        if (login.tokens.value === before) return
        // Not inside of the effect's first run, which never gets here.
        stop()
        resolve()
      })
      signal.addEventListener('abort', () => {
        stop()
        resolve()
      })
    })
}
