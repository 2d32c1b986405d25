import { expect } from 'chai'
import { newFolder } from '../helpers/cleanup.ts'
import { writeTogether } from '../helpers/note-files.ts'
import { startServeProcess } from '../helpers/serve-process.ts'

const seconds = Number(process.env['NOTE_SECONDS'] ?? 20)
/** A document has at most 1,000 notes: each round has another one. */
const roundMs = 10_000

describe('notes on a share that two servers write to', function () {
  this.timeout((2 * seconds + 60) * 1000)

  it('keep every action, and none twice', async () => {
    const share = newFolder()
    const flags = ['--documents-dir', share]
    const servers = [await startServeProcess({ flags }), await startServeProcess({ flags })]
    try {
      const until = performance.now() + seconds * 1000
      for (let round = 0; performance.now() < until; round++) {
        const { notes, actions } = await writeTogether(servers, `/shots/${round}.hip`, roundMs)
        console.log(`round ${round}: ${notes} notes, ${actions} actions`)
      }
      for (const server of servers) {
        expect(server.output().stderr).not.to.contain('cannot be read')
      }
    } finally {
      for (const server of servers) await server.stop()
    }
  })
})
