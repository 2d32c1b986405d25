import { expect } from 'chai'
import { Events } from '../helpers/mcp.ts'
import { statelessHeaders, statelessRequest } from '../helpers/stateless.ts'
import { type Changing, resourceOf } from './isolation-ops.ts'

const subscriptionId = 'io.modelcontextprotocol/subscriptionId'

/** One stream of the stateless transport, and what it must have been told. */
export class IsolatedListener {
  readonly #events: Events
  readonly #id: string | number
  /** A URI that is the stream's own: when it is told of that one, nothing is under way any more. */
  readonly #last: string
  /** Of each resource that changes, the spelling asked for last, with a mark of the stream's own. */
  readonly #wanted: ReadonlyMap<Changing, string>
  readonly #wantsList: boolean
  readonly #expected: string[] = []

  private constructor(
    events: Events,
    number: number,
    wanted: ReadonlyMap<Changing, string>,
    list: boolean,
  ) {
    this.#events = events
    this.#id = idOf(number)
    this.#last = lastOf(number)
    this.#wanted = wanted
    this.#wantsList = list
  }

  static async open(
    url: string,
    asked: { readonly uris: readonly string[]; readonly list: boolean },
    number: number,
  ): Promise<IsolatedListener> {
    // Parameters that `scene://` does not know are refused.
    const own = (uri: string) => (/^scene:/i.test(uri) ? uri : `${uri}?of=listener-${number}`)
    const resourceSubscriptions = [...asked.uris.map(own), lastOf(number)]
    const notifications = { resourcesListChanged: asked.list, resourceSubscriptions }
    const method = 'subscriptions/listen'
    const headers = { ...statelessHeaders(method), Authorization: 'Bearer bob' }
    const body = JSON.stringify(statelessRequest(method, { notifications }, idOf(number)))
    const events = await Events.open(url, headers, body)
    const wanted = new Map<Changing, string>()
    for (const uri of asked.uris) {
      const resource = resourceOf(uri)
      if (resource !== undefined) wanted.set(resource, own(uri))
    }
    const listener = new IsolatedListener(events, number, wanted, asked.list)
    await events.until(() => events.messages.length > 0, 'the acknowledgement')
    return listener
  }

  changed(what: Changing): void {
    const own = this.#wanted.get(what)
    if (own !== undefined) this.#expected.push(own)
  }

  close(): void {
    this.#events.close()
  }

  /** Compares what arrived, once all of it did: `flush` tells of the last URI of the filter. */
  async settle(flush: (uri: string) => void): Promise<void> {
    const last = this.#last
    flush(last)
    await this.#events.until(() => this.#events.updates.includes(last), last)
    const [acknowledgement, ...messages] = this.#events.messages
    expect(acknowledgement.method).to.equal('notifications/subscriptions/acknowledged')
    expect(acknowledgement.params.notifications).to.deep.equal({
      ...(this.#wantsList && { resourcesListChanged: true }),
      resourceSubscriptions: [...this.#wanted.values(), last],
    })
    for (const { params } of this.#events.messages) {
      expect(params._meta).to.deep.equal({ [subscriptionId]: this.#id })
    }
    const methods = new Set(messages.map(({ method }) => method))
    methods.delete('notifications/resources/updated')
    if (this.#wantsList) methods.delete('notifications/resources/list_changed')
    expect([...methods]).to.deep.equal([])
    const got = this.#events.updates.filter(uri => uri !== last)
    expect(got.sort()).to.deep.equal(this.#expected.sort())
    this.close()
  }
}

/** Texts and numbers, which must come back as what they are. */
function idOf(number: number): string | number {
  return number % 2 === 0 ? number : `${number}`
}

function lastOf(number: number): string {
  return `thing://last-listener-${number}`
}
