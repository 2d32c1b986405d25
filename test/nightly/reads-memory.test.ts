import { expect } from 'chai'
import { RawSession } from '../helpers/mcp.ts'
import { startServeProcess } from '../helpers/serve-process.ts'

const clients = 16
const readsOfEach = 2500
const MiB = 1024 * 1024

describe('a server that many clients read from without pause', () => {
  it('keeps nothing of an answered request until its next full collection', async () => {
    const serve = await startServeProcess()
    await serve.post('scene', { objects: Array.from({ length: 30 }, (_, id) => ({ id })) })
    const opening = Array.from({ length: clients }, () => RawSession.open(serve.url))
    const sessions = await Promise.all(opening)
    const reading = sessions.map(async session => {
      for (let read = 0; read < readsOfEach; read++) await session.readJson('scene://current')
    })
    await Promise.all(reading)
    // About 130 MiB; 240 where whole requests are kept.
    expect(serve.rss().peak).to.be.below(180 * MiB)
  })
})
