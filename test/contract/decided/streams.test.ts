import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { expect } from 'chai'
import { facts, listening, serving } from '../facts.ts'

/** The bytes of a GET stream until `enough` says so. */
async function rawStream(
  url: string,
  headers: Record<string, string>,
  then: (text: () => string, until: (enough: () => boolean) => Promise<void>) => Promise<void>,
): Promise<void> {
  const req = request(url, { headers: { ...headers, Accept: 'text/event-stream' }, agent: false })
  req.end()
  const [res] = (await once(req, 'response')) as [IncomingMessage]
  let text = ''
  res.setEncoding('utf8').on('data', (piece: string) => (text += piece))
  try {
    await then(
      () => text,
      async enough => {
        while (!enough()) await once(res, 'data')
      },
    )
  } finally {
    req.destroy()
  }
}

facts('decision: event streams have no event ids', [
  [
    'no priming event, no id and no retry field, in the revision that has them either',
    () =>
      serving(async ({ url, session, server }) => {
        await session.call('resources/subscribe', { uri: 'scene://current' })
        await rawStream(url, session.headers, async (text, until) => {
          for (let n = 1; n <= 3; n++) {
            server.resources().setScene({ n })
            await until(() => text().split('scene://current').length > n)
          }
          const lines = text().split('\n')
          const data = lines.filter(line => line.startsWith('data:'))
          expect(data).to.have.length(3)
          for (const line of data) expect(line).to.match(/^data: \{"jsonrpc"/)
          const others = lines.filter(line => !/^(data|event):|^:|^$/.test(line))
          expect(others).to.deep.equal([])
        })
      }),
  ],
  [
    'Last-Event-ID resumes nothing: the stream begins anew, with the subscriptions of the session',
    () =>
      serving(async ({ url, session, server }) => {
        await listening(session, ['scene://current'], async events => {
          server.resources().setScene({ n: 1 })
          await events.until(() => events.updates.length === 1)
        })
        server.resources().setScene({ n: 2 })
        const headers = { ...session.headers, 'Last-Event-ID': '1' }
        await rawStream(url, headers, async (text, until) => {
          server.resources().setScene({ n: 3 })
          await until(() => text().includes('scene://current'))
          await session.call('ping')
          expect(text().split('scene://current')).to.have.length(2)
        })
      }),
  ],
])
