import { expect } from 'chai'
import { join } from 'node:path'
import { LinkClient } from '../helpers/link.ts'
import { RawSession } from '../helpers/mcp.ts'
import { startServeProcess } from '../helpers/serve-process.ts'
import { fillUp, onSmallDisk } from './small-disk.ts'

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

  it('answers notes, answers to them and checkpoints with 507, over the link with limit', function () {
    return onSmallDisk(this, '1m', async folder => {
      const env = { XDG_DATA_HOME: folder }
      const serve = await startServeProcess({ env })
      await serve.post('scene', { objects: [] })
      const { json } = await serve.post('notes', { text: 'Higher' })
      fillUp(join(folder, 'filler'))
      const full = [
        await serve.post('checkpoints', { name: 'one' }),
        await serve.post('notes', { text: 'x'.repeat(4000) }),
        await serve.post(`notes/${json.note.id}/answer`, { text: 'x'.repeat(4000) }),
      ]
      const codes = full.map(each => each.json.code)
      expect(codes).to.deep.equal(['storage-full', 'storage-full', 'storage-full'])
      expect(full.map(({ status }) => status)).to.deep.equal([507, 507, 507])
      const application = await LinkClient.connect(serve)
      const answers = [
        await application.ask({ type: 'note.add', note: { text: 'x'.repeat(4000) } }),
        await application.ask({ type: 'checkpoint.add', name: 'two' }),
      ]
      application.ws.terminate()
      await serve.stop()
      const message = 'the server has no room left to store this'
      const refused = { type: 'error', code: 'limit', message, retryable: true }
      expect(answers.map(({ id: _id, ...answer }) => answer)).to.deep.equal([refused, refused])
    })
  })
})
