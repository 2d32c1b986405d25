import { expect } from 'chai'
import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import { dirname, join } from 'node:path'
import { failureOf } from '../../helpers/failure.ts'
import { withFolder } from '../../helpers/folder.ts'
import { recordingLog } from '../../helpers/recording-log.ts'
import {
  age,
  bodyPath,
  bytesHashedTo,
  bytesOf,
  damage,
  hexOf,
  noTimers,
  open,
  opened,
  sha256,
} from './support.ts'

describe('filesystem artefact store with damaged files', () => {
  it('hides only invalid sidecars and logs each once', () =>
    withFolder(async root => {
      const writer = await open(root)
      const good = (await writer.put(bytesHashedTo('aa'))).ref
      const cases: [string, (ref: Record<string, unknown>) => string][] = [
        ['not JSON', () => '{"uri":'],
        ['not an object', () => '[]'],
        ['wrong digest', ref => JSON.stringify({ ...ref, digest: `sha256:${'0'.repeat(64)}` })],
        ['bad mime', ref => JSON.stringify({ ...ref, mime: 'a/b\r\nX: y' })],
        ['bad time', ref => JSON.stringify({ ...ref, created_at: 'now' })],
        ['bad expiry', ref => JSON.stringify({ ...ref, expires_at: 5 })],
        ['bad size', ref => JSON.stringify({ ...ref, size_bytes: -1 })],
        ['bad name', ref => JSON.stringify({ ...ref, display_name: 'a\nb' })],
        ['too deep', ref => JSON.stringify({ ...ref, metadata: 0 }).replace('0}', deep(200) + '}')],
        ['too large', ref => JSON.stringify({ ...ref, metadata: 'x'.repeat(100_000) })],
      ]
      const hashes: string[] = []
      for (const [, spoil] of cases) {
        const { ref } = await writer.put(bytesHashedTo('aa'))
        const path = `${bodyPath(root, hexOf(ref))}.json`
        fs.writeFileSync(path, spoil({ ...ref }))
        hashes.push(hexOf(ref))
      }
      await writer.close()

      const log = recordingLog()
      const store = await open(root, { log })
      for (let round = 0; round < 3; round++) {
        expect((await store.page(undefined, 100)).refs).to.deep.equal([good])
      }
      for (const [at, hex] of hashes.entries()) {
        expect(await store.find(hex), cases[at]?.[0]).to.equal(null)
        expect(await store.open(hex)).to.equal(null)
      }
      expect(log.lines.filter(line => line.level === 'warn')).to.have.length(cases.length)
      await store.close()
    }))

  it('follows no symlink in place of a body, whether it was there at the start or came later', () =>
    withFolder(async root => {
      fs.writeFileSync(join(root, 'secret'), 'secret')
      const first = await open(root)
      const hex = hexOf((await first.put(Buffer.from('secret'))).ref)
      age(root)
      await first.page(undefined, 1)
      const path = bodyPath(root, hex)
      const times = fs.statSync(dirname(path))
      fs.rmSync(path)
      fs.symlinkSync(join(root, 'secret'), path)
      // As if nothing had changed since the folder was read.
      fs.utimesSync(dirname(path), times.atime, times.mtime)
      expect((await failureOf(() => first.open(hex))).code).to.equal('storage_failed')
      await first.close()
      const store = await open(root)
      expect(await store.find(hex)).to.equal(null)
      expect(await store.open(hex)).to.equal(null)
      await store.close()
    }))

  it('serves an undamaged body whose sidecar claims another size', () =>
    withFolder(async root => {
      const bytes = randomBytes(3000)
      const hex = sha256(bytes)
      const writer = await open(root)
      const { ref } = await writer.put(bytes)
      await writer.close()
      const sidecar = `${bodyPath(root, hex)}.json`
      fs.writeFileSync(sidecar, JSON.stringify({ ...ref, size_bytes: 5_000_000 }))
      const store = await open(root)
      expect(await store.find(hex)).to.deep.equal(ref)
      expect((await store.page(undefined, 1)).refs).to.deep.equal([ref])
      expect((await bytesOf(store, hex)).equals(bytes)).to.equal(true)
      expect(fs.readdirSync(join(root, 'quarantine'))).to.deep.equal([])
      await store.close()
    }))

  it('quarantines truncated bodies within the bound', () =>
    withFolder(async root => {
      const bound = { ...noTimers, maxArtefactQuarantineBytes: 8192 }
      const store = await open(root, { limits: bound })
      for (let at = 0; at < 3; at++) {
        const hex = hexOf((await store.put(randomBytes(100))).ref)
        fs.truncateSync(bodyPath(root, hex), 50)
        expect((await failureOf(() => store.open(hex))).code).to.equal('artefact_corrupt')
        expect(fs.existsSync(bodyPath(root, hex))).to.equal(false)
        expect(fs.existsSync(`${bodyPath(root, hex)}.json`)).to.equal(false)
      }
      expect(fs.readdirSync(join(root, 'quarantine'))).to.have.length(3)
      await store.sweep()
      expect(fs.readdirSync(join(root, 'quarantine'))).to.have.length(2)
      await store.close()
    }))

  it('keeps a good body that replaced the damaged one during a read', () =>
    withFolder(async root => {
      const store = await open(root)
      const bytes = randomBytes(1000)
      const hex = sha256(bytes)
      await store.put(bytes)
      damage(root, hex)
      const artefact = await opened(store, hex)
      await store.put(bytes)
      const failure = await failureOf(() => Array.fromAsync(artefact.verified()))
      await artefact.close()
      expect(failure.code).to.equal('artefact_corrupt')
      expect(fs.readFileSync(bodyPath(root, hex)).equals(bytes)).to.equal(true)
      expect(await store.find(hex)).to.not.equal(null)
      await store.close()
    }))
})

function deep(levels: number): string {
  return '['.repeat(levels) + ']'.repeat(levels)
}
