/** One entry of a listing, as far as the scenario looks at it. */
export interface Listed {
  resources: { uri: string; name: string; mimeType?: string }[]
  nextCursor?: string
}

export interface ReadResult {
  contents: { uri: string; mimeType?: string; text?: string; blob?: string; _meta?: any }[]
}

interface Notification {
  method: string
  params?: { uri?: unknown }
}

/** The part of the SDK's client that all its releases have in common. */
export interface SdkClient {
  fallbackNotificationHandler?: (notification: Notification) => Promise<void>
  connect(transport: object): Promise<void>
  listResources(params?: { cursor: string }): Promise<Listed>
  listResourceTemplates(): Promise<{ resourceTemplates: { uriTemplate: string }[] }>
  readResource(params: { uri: string }): Promise<ReadResult>
  listTools(): Promise<{ tools: { name: string }[] }>
  callTool(params: { name: string; arguments: object }): Promise<any>
  subscribeResource(params: { uri: string }): Promise<unknown>
  unsubscribeResource(params: { uri: string }): Promise<unknown>
  ping(): Promise<unknown>
  close(): Promise<void>
}

/** What SDK v2 has beside that. */
export interface StatelessClient extends SdkClient {
  getProtocolEra(): string | undefined
  getNegotiatedProtocolVersion(): string | undefined
  listen(filter: Record<string, unknown>): Promise<Listening>
}

export interface Listening {
  honoredFilter: unknown
  close(): Promise<void>
  /** How it ended: "graceful" is the server's doing. */
  closed: Promise<string>
}

export interface SdkTransport {
  sessionId?: string
  onmessage?: unknown
  terminateSession(): Promise<void>
}

export interface Sdk {
  Client: new (info: { name: string; version: string }, options?: object) => SdkClient
  StreamableHTTPClientTransport: new (url: URL, options?: object) => SdkTransport
}

/** The two modules of a release of SDK v1, from wherever the name is installed. */
export async function loadSdk(
  name: string,
  load: (specifier: string) => Promise<unknown>,
): Promise<Sdk> {
  const [client, transport] = await Promise.all([
    load(`${name}/client/index.js`),
    load(`${name}/client/streamableHttp.js`),
  ])
  return { ...(client as Sdk), ...(transport as Sdk) }
}

const waitMs = 10_000

/** The updates a client was told of, in order. */
export class Updates {
  readonly uris: string[] = []
  #waiting: (() => void)[] = []

  constructor(client: SdkClient) {
    client.fallbackNotificationHandler = async ({ method, params }) => {
      if (method !== 'notifications/resources/updated') return
      this.uris.push(String(params?.uri))
      for (const wake of this.#waiting.splice(0)) wake()
    }
  }

  count(uri: string): number {
    return this.uris.filter(each => each === uri).length
  }

  /** Resolves once `uri` was announced `count` times in all; throws after 10 s. */
  async until(uri: string, count: number, deadlineMs = waitMs): Promise<void> {
    const expired = AbortSignal.timeout(deadlineMs)
    const wake = () => {
      for (const each of this.#waiting.splice(0)) each()
    }
    expired.addEventListener('abort', wake)
    try {
      while (this.count(uri) < count) {
        if (expired.aborted) {
          throw new Error(`update ${count} of ${uri} did not come; got ${this.uris.join(', ')}`)
        }
        await new Promise<void>(resolve => this.#waiting.push(resolve))
      }
    } finally {
      expired.removeEventListener('abort', wake)
    }
  }
}
