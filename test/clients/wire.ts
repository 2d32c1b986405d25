/** What passed between a client and the server. */
export interface Wire {
  /** How often the client sent this request. */
  sent(method: string): number
  /** Revision in the answer to `initialize`. */
  revision(): string | undefined
  /** Resolves when the server accepted the event stream: from then on updates arrive. */
  streamOpen(): Promise<void>
  /** Takes the ear off again. */
  release(): void
}

const waitMs = 10_000

/**
 * Listens to `fetch`, which every SDK release uses and which reports the one moment a client
 * does not: when its event stream is open.
 */
export function tapFetch(endpoint: string): Wire {
  const original = globalThis.fetch
  const requests: string[] = []
  const opened = Promise.withResolvers<void>()
  let revision: string | undefined

  globalThis.fetch = async (input, init) => {
    const answer = await original(input, init)
    const url = input instanceof Request ? input.url : String(input)
    if (url !== endpoint) return answer
    const method = init?.method ?? 'GET'
    if (method === 'GET' && answer.status === 200) opened.resolve()
    if (method !== 'POST') return answer
    const request = requestIn(init?.body)
    requests.push(request)
    if (request === 'initialize') {
      revision = /"protocolVersion":"([^"]+)"/.exec(await answer.clone().text())?.[1]
    }
    return answer
  }

  return {
    sent: method => requests.filter(each => each === method).length,
    revision: () => revision,
    streamOpen: () => within(opened.promise, 'the event stream to open'),
    release: () => {
      globalThis.fetch = original
    },
  }
}

function requestIn(body: unknown): string {
  const message = JSON.parse(String(body)) as { method?: string }
  return message.method ?? ''
}

async function within(promise: Promise<void>, what: string): Promise<void> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error(`waited in vain for ${what}`)), waitMs)
  try {
    await Promise.race([promise, late.promise])
  } finally {
    clearTimeout(timer)
  }
}
