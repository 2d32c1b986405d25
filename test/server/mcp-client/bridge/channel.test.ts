import { expect } from 'chai'
import { handshake, json, result, type Seen, useBridges } from './bench.ts'

/** `String` throws for it. */
const hostile = { toString: 0, valueOf: 0 }
const limits = { channelSettleMs: 1, channelIntervalMs: 1 }

describe('the channel of the bridge', () => {
  const { connect, scripted } = useBridges()

  const notes = (note: object) => ({ structuredContent: { notes: [{ id: 'a', ...note }] } })
  /** The answers to each tool in their order; the last one of a note stays. */
  const answers: Record<string, object[]> = {
    wait_for_change: [
      { content: [{ type: 'text', text: hostile }], structuredContent: { changed: false } },
      { content: [], structuredContent: { changed: true, revision: 1 } },
      { content: [], structuredContent: { changed: true, revision: 2 } },
    ],
    scene_changes: [
      { content: [{ type: 'text', text: 'Cube moved' }], structuredContent: { changes: [1] } },
    ],
    list_notes: [
      notes({ number: 1, state: 'open' }),
      notes({ number: hostile, author: hostile, text: 'Too bright', last: { at: 'now' } }),
    ],
  }

  it('goes on after answers whose members have a wrong type', async () => {
    const left = structuredClone(answers)
    const endpoint = await scripted((seen: Seen, res) => {
      const { body } = seen
      if (body?.method === 'initialize') {
        const serverInfo = { name: 'scripted', version: '1' }
        const { protocolVersion } = body.params
        const capabilities = { tools: {} }
        return json(res, result(body.id, { protocolVersion, capabilities, serverInfo }))
      }
      if (handshake(seen, res)) return
      const { name } = body.params
      const [answer, ...others] = left[name] ?? []
      if (answer === undefined) return // it waits
      if (name !== 'list_notes' || others.length > 0) left[name] = others
      json(res, result(body.id, answer))
    })
    const client = connect(endpoint.url, { channel: true, limits })
    await client.initialize()
    const told = () =>
      client
        .notified('notifications/claude/channel')
        .map(({ params }) => params.content)
        .join('\n')
    await client.until(() => /Cube moved/.test(told()) && /Too bright/.test(told()), 'both')
    expect(told()).to.match(/note \{"toString":0.* from .*: Too bright/)
    expect(client.log.filter(line => line.startsWith('error'))).to.deep.equal([])
  })
})
