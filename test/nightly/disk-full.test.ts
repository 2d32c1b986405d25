import { expect } from 'chai'
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { readConfig, updateConfig, withLogin } from '../../src/lib/config/config-file.ts'
import { Secret } from '../../src/lib/util/secret.ts'
import { failureOf } from '../helpers/failure.ts'
import { LinkClient } from '../helpers/link.ts'
import { RawSession } from '../helpers/mcp.ts'
import { startServeProcess } from '../helpers/serve-process.ts'
import { openFolder, sha256 } from '../unit/artefacts/support.ts'
import { fillUp, onSmallDisk } from './small-disk.ts'

describe('on a full disk', () => {
  it('the configuration says so, keeps the old file, leaves nothing behind and recovers', function () {
    return onSmallDisk(this, '256k', async folder => {
      const path = join(folder, 'config.toml')
      const url = 'https://registry.example'
      const save = (text: string) => {
        const login = { username: 'a', access_token: new Secret(text) }
        return updateConfig(path, config => withLogin(config, url, login))
      }
      await save('first')
      const before = readFileSync(path, 'utf8')
      fillUp(join(folder, 'filler'))
      const failure = await failureOf(() => save('second'.repeat(2000)))
      expect(failure.code, failure.message).to.equal('storage_full')
      expect(failure.hint).to.be.a('string')
      expect(readFileSync(path, 'utf8')).to.equal(before)
      expect(readdirSync(folder)).to.have.members(['config.lock', 'config.toml', 'filler'])
      rmSync(join(folder, 'filler'))
      await save('third')
      const entry = (await readConfig(path)).registries[url]
      expect(entry?.access_token?.reveal()).to.equal('third')
    })
  })

  it('the artefact store says so, leaves nothing behind and stays usable', function () {
    return onSmallDisk(this, '2m', async folder => {
      const root = join(folder, 'root')
      const store = await openFolder(root)
      await store.put(randomBytes(500_000))
      for (const source of [randomBytes(3_000_000), pieces(3_000_000)]) {
        const failure = await failureOf(() => store.put(source))
        expect(failure.code).to.equal('storage_full')
        expect(failure.hint).to.be.a('string')
        expect(readdirSync(join(root, 'tmp'))).to.deep.equal([])
      }
      const fitting = randomBytes(500_000)
      await store.put(fitting)
      expect(await store.find(sha256(fitting))).to.not.equal(null)
      // Not a byte left: even then something can be removed.
      fillUp(join(folder, 'filler'))
      const small = await failureOf(() => store.put(randomBytes(10)))
      expect(small.code).to.equal('storage_full')
      expect(await store.remove(sha256(fitting))).to.equal(true)
      await store.put(randomBytes(10))
      expect((await store.page(undefined, 9)).refs).to.have.length(2)
      await store.close()
    })
  })

  it('serve answers an upload with 507, loses nothing and goes on', function () {
    return onSmallDisk(this, '4m', async folder => {
      const serve = await startServeProcess({ registryDir: folder })
      const kept = await serve.store(Buffer.alloc(1_000_000, 'k'))
      const type = { 'Content-Type': 'application/octet-stream' }
      const full = await serve.post('artefacts', Buffer.alloc(5_000_000, 'f'), type)
      expect([full.status, full.json.code]).to.deep.equal([507, 'storage-full'])
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

  it('serve answers notes, answers to them and checkpoints with 507, over the link with limit', function () {
    return onSmallDisk(this, '1m', async folder => {
      const serve = await startServeProcess({ env: { XDG_DATA_HOME: folder } })
      await serve.post('scene', { objects: [] })
      const { json } = await serve.post('notes', { text: 'Higher' })
      fillUp(join(folder, 'filler'))
      const text = 'x'.repeat(4000)
      const full = [
        await serve.post('checkpoints', { name: 'one' }),
        await serve.post('notes', { text }),
        await serve.post(`notes/${json.note.id}/answer`, { text }),
      ]
      for (const { status, json: problem } of full) {
        expect([status, problem.code]).to.deep.equal([507, 'storage-full'])
      }
      const application = await LinkClient.connect(serve)
      const answers = [
        await application.ask({ type: 'note.add', note: { text } }),
        await application.ask({ type: 'checkpoint.add', name: 'two' }),
      ]
      application.ws.terminate()
      await serve.stop()
      const message = 'the server has no room left to store this'
      const refused = { type: 'error', code: 'limit', message }
      for (const { id: _, ...answer } of answers) expect(answer).to.deep.equal(refused)
    })
  })
})

async function* pieces(size: number) {
  for (let at = 0; at < size; at += 100_000) yield randomBytes(100_000)
}
