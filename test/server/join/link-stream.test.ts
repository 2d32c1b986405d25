import { expect } from 'chai'
import { once } from 'node:events'
import { openLinkPair } from '../../helpers/join-link.ts'

/**
 * HTTP/2 of Node has aborted the process when it wrote to a stream whose other half had ended, as
 * that of `createWebSocketStream` does: a link has no such state.
 */
describe('LinkStream', () => {
  for (const ending of ['closes', 'is cut'] as const) {
    it(`never ends before it closes when the WebSocket ${ending}`, async () => {
      const { gateway, instance, close } = await openLinkPair((_req, res) => void res.end())
      const ends = [gateway.link, instance.link].map(({ stream }) => {
        const seen: string[] = []
        for (const event of ['end', 'finish', 'close']) stream.on(event, () => seen.push(event))
        return { stream, seen, closed: once(stream, 'close') }
      })
      if (ending === 'closes') instance.link.close(1001, 'it stops')
      else instance.socket.destroy()
      for (const { stream, seen, closed } of ends) {
        await closed
        expect(seen).to.deep.equal(['close'])
        expect([stream.readableEnded, stream.writableFinished]).to.deep.equal([false, false])
      }
      close()
    })
  }

  it('is gone as soon as HTTP/2 has ended its half', async () => {
    const { gateway, instance, close } = await openLinkPair((_req, res) => void res.end())
    const closed = once(gateway.link.stream, 'close')
    const otherEnded = instance.link.ended
    gateway.link.stream.end()
    await closed
    expect((await otherEnded).code).to.equal(1006)
    close()
  })
})
