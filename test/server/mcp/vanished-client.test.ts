import { request } from 'node:http'
import { expect } from 'chai'
import type { AccessEntry } from '../../../src/lib/access-entry.ts'
import { ask, RawSession, rpc, startServer } from '../../helpers/mcp.ts'
import { statelessHeaders, statelessRequest } from '../../helpers/stateless.ts'

const chars = 200_000
/** Room for one large answer at a time, and not for two. */
const limits = { maxHeldAnswerBytes: 1.5 * chars }

/** A producer whose answers come when the test says so. */
class Waiting {
  readonly scheme = 'waiting'
  readonly #waiting: (() => void)[] = []
  #arrived: () => void = () => {}

  list(): [] {
    return []
  }

  async read(uri: string): Promise<{ uri: string; text: string }[]> {
    await new Promise<void>(resolve => {
      this.#waiting.push(resolve)
      this.#arrived()
    })
    return [{ uri, text: 'x'.repeat(chars) }]
  }

  /** Resolves when a reader waits. */
  async asked(): Promise<void> {
    if (this.#waiting.length > 0) return
    await new Promise<void>(resolve => (this.#arrived = resolve))
  }

  answer(): void {
    for (const resolve of this.#waiting.splice(0)) resolve()
  }
}

const eras = {
  'in a session': async (url: string) => {
    const { headers } = await RawSession.open(url)
    return (uri: string) => ({ headers, body: rpc('resources/read', { uri }) })
  },
  'of 2026-07-28': async () => (uri: string) => ({
    headers: statelessHeaders('resources/read', { uri }),
    body: JSON.stringify(statelessRequest('resources/read', { uri })),
  }),
}

describe('a client that leaves before its answer is there', () => {
  for (const [era, open] of Object.entries(eras)) {
    it(`takes no room from those who stay, ${era}`, async () => {
      const producer = new Waiting()
      let cut: () => void = () => {}
      const parts = { accessLog: ({ status }: AccessEntry) => void (status === null && cut()) }
      const running = await startServer({ limits }, parts, server =>
        server.resources().addProducer(producer),
      )
      try {
        const reading = await open(running.url)
        for (const name of ['a', 'b']) {
          const { headers, body } = reading(`waiting://${name}`)
          const left = request(running.url, { method: 'POST', headers, agent: false })
          left.on('error', () => {})
          left.end(body)
          await producer.asked()
          const gone = new Promise<void>(resolve => (cut = resolve))
          left.destroy()
          await gone
          producer.answer()
        }
        const { headers, body } = reading('waiting://c')
        const staying = ask(running.url, { method: 'POST', headers, body })
        await producer.asked()
        producer.answer()
        const { json } = await staying
        expect(json.error).to.equal(undefined)
        expect(json.result.contents[0].text).to.have.length(chars)
      } finally {
        await running.stop()
      }
    })
  }
})
