import { expect } from 'chai'
import type { ServerResponse } from 'node:http'
import { until } from '../../../helpers/until.ts'
import { BridgeClient, events, handshake, json, result, scripted } from './bench.ts'

describe('the bounds of the bridge', () => {
  const echo = () => scripted(({ body }, res) => json(res, result(body.id, {})))

  const malformed: [line: string | Buffer, code: number][] = [
    ['{', -32700],
    ['7', -32600],
    ['{"jsonrpc":"1.0","id":5,"method":"ping"}', -32600],
    ['{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600],
  ]
  for (const [line, code] of malformed) {
    it(`answers ${String(line)} with ${code}, and goes on`, async () => {
      const endpoint = await echo()
      const client = new BridgeClient(endpoint.url)
      client.write(Buffer.concat([Buffer.from(line), Buffer.from('\n\n \r\n')]))
      expect((await client.call('ping', {}, 'after')).result).to.deep.equal({})
      const refused = client.messages.filter(message => message.id !== 'after')
      expect(refused).to.have.length(1)
      expect(refused[0].id).to.equal(null)
      expect(refused[0].error.code).to.equal(code)
      expect(endpoint.seen).to.have.length(1)
    })
  }

  it('skips a byte order mark before the first message', async () => {
    const endpoint = await echo()
    const client = new BridgeClient(endpoint.url)
    client.write('\uFEFF{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    expect((await client.answer(1)).result).to.deep.equal({})
    expect(endpoint.seen[0]?.body.method).to.equal('ping')
  })

  const shapes: [what: string, answer: (res: ServerResponse, message: object) => void][] = [
    ['as JSON', json],
    [
      'on a stream',
      (res, message) => {
        events(res)(message)
        res.end()
      },
    ],
  ]
  for (const [what, answer] of shapes) {
    it(`says that an answer ${what} is too large, in its place`, async () => {
      const endpoint = await scripted(({ body }, res) => {
        answer(res, result(body.id, { text: 'x'.repeat(body.params.size) }))
      })
      const client = new BridgeClient(endpoint.url)
      const large = await client.call('read', { size: 10_000_000 })
      expect(large.error.data).to.deep.equal({
        reason: 'answer_too_large',
        max_bytes: 9 * 1024 * 1024,
      })
      expect((await client.call('read', { size: 9000 })).result.text).to.have.length(9000)
    })
  }

  it('slows the stream of a client that reads slowly', async () => {
    const count = 200
    const params = { text: 'x'.repeat(100_000) }
    let written = 0
    let lastMs = performance.now()
    const endpoint = await scripted((seen, res) => {
      if (seen.method !== 'GET') {
        if (!handshake(seen, res)) json(res, result(seen.body.id, {}))
        return
      }
      const send = events(res)
      const more = (): void => {
        while (written < count && !res.destroyed) {
          written++
          lastMs = performance.now()
          send({ jsonrpc: '2.0', method: 'notifications/message', params, number: written })
          if (res.writableNeedDrain) return void res.once('drain', more)
        }
      }
      more()
    })
    const client = new BridgeClient(endpoint.url)
    await client.initialize()
    client.output.pause()
    // Whatever fits the buffers between the two has been written when nothing moves any more.
    const still = () => written > 0 && performance.now() - lastMs > 500
    await until(() => written === count || still(), 'the end of the writing')
    expect(written).to.be.below(count)
    client.output.resume()
    await client.until(() => client.notified('notifications/message').length === count, 'all')
    expect(client.notified('notifications/message').map(({ number }) => number)).to.deep.equal(
      Array.from({ length: count }, (_, at) => at + 1),
    )
  })
})
