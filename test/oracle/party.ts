import { request as httpRequest, type Agent, type ClientRequest } from 'node:http'
import { once } from 'node:events'
import { type Case, bothTypes, initialize } from './case.ts'
import { exchange, type RawRequest } from './exchange.ts'
import { observe, type Observation } from './observation.ts'

/** One of the two servers, with the sessions that its requests need. */
export class Party {
  readonly #url: string
  readonly #agent: Agent
  readonly #shared = new Map<string, Promise<string>>()
  readonly #streams: ClientRequest[] = []

  constructor(url: string, agent: Agent) {
    this.#url = url
    this.#agent = agent
  }

  async ask({ method, headers, body, session, revision }: Case): Promise<Observation> {
    const id = await this.#sessionId(session, revision)
    const asked: RawRequest = {
      method,
      headers: id === null ? headers : { ...headers, 'Mcp-Session-Id': id },
      ...(body === undefined ? {} : { body }),
    }
    return observe(await exchange(this.#url, asked, this.#agent), asked)
  }

  close(): void {
    for (const stream of this.#streams) stream.destroy()
  }

  async #sessionId(state: Case['session'], revision: string): Promise<string | null> {
    switch (state) {
      case 'none':
        return null
      case 'unknown':
        return 'never-was-one'
      case 'live':
        return this.#sharedSession(revision)
      case 'own':
        return this.#open(revision)
      case 'ended': {
        const id = await this.#open(revision)
        await this.#send({ method: 'DELETE', headers: { 'Mcp-Session-Id': id } })
        return id
      }
      case 'streaming': {
        const id = await this.#open(revision)
        await this.#openStream(id)
        return id
      }
    }
  }

  #sharedSession(revision: string): Promise<string> {
    let id = this.#shared.get(revision)
    if (id === undefined) this.#shared.set(revision, (id = this.#open(revision)))
    return id
  }

  async #open(protocolVersion: string): Promise<string> {
    const headers = { 'Content-Type': 'application/json', Accept: bothTypes }
    const body = initialize({ protocolVersion })
    const answer = await this.#send({ method: 'POST', headers, body })
    const id = answer?.headers['mcp-session-id']
    if (typeof id !== 'string') throw new Error(`no session: ${answer?.text}`)
    return id
  }

  async #openStream(id: string): Promise<void> {
    const headers = { Accept: 'text/event-stream', 'Mcp-Session-Id': id }
    const req = httpRequest(this.#url, { headers, agent: false })
    req.on('error', () => {})
    req.end()
    this.#streams.push(req)
    await once(req, 'response')
  }

  #send(request: RawRequest) {
    return exchange(this.#url, request, this.#agent)
  }
}
