import { expect } from 'chai'
import { OpenRequests } from '../../../../src/server/gateway/relay/open-requests.ts'

describe('the requests of a user that are open at an instance', () => {
  it('are 100 at most, and one more when one has ended', async () => {
    const open = new OpenRequests()
    const hanging = Array.from({ length: 100 }, () => Promise.withResolvers<string>())
    const answers = hanging.map(({ promise }) => open.run('a', undefined, () => promise))
    const codeOf = (error: { code: string }) => error.code
    const next = () => open.run('a', undefined, async () => 'answered').catch(codeOf)
    expect(await next()).to.equal('overloaded')
    expect(await open.run('b', undefined, async () => 'answered')).to.equal('answered')
    hanging[0]?.resolve('late')
    expect(await answers[0]).to.equal('late')
    expect(await next()).to.equal('answered')
  })

  it('are 32 at most with a large answer, until its last byte, and end together', async () => {
    const open = new OpenRequests()
    async function* bytes() {
      yield new Uint8Array(1)
    }
    const read = () => open.run('a', undefined, async () => ({ open: () => bytes(), discard() {} }))
    const streams = await Promise.all(Array.from({ length: 32 }, read))
    const refused = () =>
      read().then(
        () => false,
        () => true,
      )
    expect(await refused()).to.equal(true)
    expect(await open.run('a', undefined, async () => 'small')).to.equal('small')
    for await (const _ of streams[0]?.open() ?? []) expect(await refused()).to.equal(true)
    expect(await refused()).to.equal(false)
    streams[1]?.discard()
    expect(await refused()).to.equal(false)
    let hasLeft = false
    await open.run('b', undefined, async reader => void reader.onLeave(() => (hasLeft = true)))
    expect(hasLeft).to.equal(false)
    const waiting = open.run(
      'b',
      undefined,
      reader => new Promise(resolve => reader.onLeave(() => resolve(null))),
    )
    open.end('b')
    expect(await waiting).to.equal(null)
  })
})
