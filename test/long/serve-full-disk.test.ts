import { expect } from 'chai'
import { RawSession } from '../helpers/mcp.ts'
import { startServeProcess } from '../helpers/serve-process.ts'
import { onSmallDisk } from './small-disk.ts'

describe('serve on a full disk', () => {
  it('answers an upload with 507, loses nothing and goes on', function () {
    return onSmallDisk(this, '4m', async folder => {
      const serve = await startServeProcess({ registryDir: folder })
      const kept = await serve.store(Buffer.alloc(1_000_000, 'k'))
      const full = await serve.post('artefacts', Buffer.alloc(5_000_000, 'f'), {
        'Content-Type': 'application/octet-stream',
      })
      expect(full.status).to.equal(507)
      expect(full.json.code).to.equal('storage-full')
      expect(full.text).not.to.include(folder)
      const later = await serve.store('small enough')
      const session = await RawSession.open(serve.url)
      for (const hex of [kept, later]) {
        const uri = `artefact://sha256/${hex}`
        const { result } = await session.call('resources/read', { uri })
        expect(result.contents[0].uri).to.equal(uri)
      }
      expect((await serve.stop()).code).to.equal(0)
    })
  })
})
