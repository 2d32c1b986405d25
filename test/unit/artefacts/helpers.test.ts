import { expect } from 'chai'
import { execFileSync, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  artefactGetBytes,
  artefactList,
  artefactPutBytes,
  artefactPutFile,
  artefactRootIn,
  defaultArtefactRoot,
} from '../../../src/server/artefacts/helpers.ts'
import { createFsStore } from '../../../src/server/artefacts/fs-store.ts'
import { ResourceNotFound, ResourceUriInvalid } from '../../../src/server/resources/errors.ts'
import { failureOf } from '../../helpers/failure.ts'
import { withFolder } from '../../helpers/folder.ts'
import { sha256 } from './support.ts'

describe('artefact helpers', () => {
  it('put, list and get in the folder that a server serves', () =>
    withFolder(async folder => {
      const root = artefactRootIn(folder)
      const bytes = randomBytes(3_000_000)
      fs.writeFileSync(join(folder, 'chair.glb'), bytes)
      const store = await createFsStore({ root })
      const file = await artefactPutFile(join(folder, 'chair.glb'), { root, mime: 'model/gltf' })
      expect(file).to.include({ uri: `artefact://sha256/${sha256(bytes)}`, mime: 'model/gltf' })
      expect(file.display_name).to.equal('chair.glb')
      const other = await artefactPutBytes(Buffer.from('x'), { root, sessionId: 's' })
      expect(await store.find(sha256(bytes))).to.deep.equal(file)
      expect(await artefactList({ root })).to.have.deep.members([file, other])
      expect(await artefactList({ root, sessionId: 's' })).to.deep.equal([other])
      expect(Buffer.from(await artefactGetBytes(file.uri, { root })).equals(bytes)).to.equal(true)
      await store.close()
    }))

  it('say what is wrong', () =>
    withFolder(async root => {
      const absent = `artefact://sha256/${'0'.repeat(64)}`
      const missing = await failureOf(() => artefactGetBytes(absent, { root }))
      expect(missing).to.be.instanceOf(ResourceNotFound)
      const malformed = await failureOf(() => artefactGetBytes('artefact://x', { root }))
      expect(malformed).to.be.instanceOf(ResourceUriInvalid)
      for (const path of [join(root, 'nothing'), root]) {
        const failure = await failureOf(() => artefactPutFile(path, { root }))
        expect(failure.code).to.equal('body_invalid')
        expect(failure.message).to.contain(path)
      }
    }))

  it('refuse a named pipe and a device at once', () =>
    withFolder(async root => {
      const pipe = join(root, 'pipe')
      execFileSync('mkfifo', [pipe])
      for (const path of [pipe, '/dev/zero']) {
        const failure = await failureOf(() => artefactPutFile(path, { root }))
        expect(failure.code).to.equal('body_invalid')
        expect(failure.message).to.equal(`cannot store the file ${path}: not a regular file`)
      }
    }))

  it('work on when the folder was removed in between', () =>
    withFolder(async folder => {
      const root = artefactRootIn(folder)
      await artefactPutBytes(Buffer.from('one'), { root })
      fs.rmSync(root, { recursive: true })
      const { uri } = await artefactPutBytes(Buffer.from('two'), { root })
      expect((await artefactList({ root })).map(ref => ref.uri)).to.deep.equal([uri])
    }))

  it('use a folder of the user by default and keep no process alive', () =>
    withFolder(async folder => {
      const uid = process.geteuid?.() ?? 0
      expect(defaultArtefactRoot()).to.equal(join(tmpdir(), `dcc-mcp-artefacts-${uid}`))
      const module = join(import.meta.dirname, '../../../src/server/artefacts/helpers.ts')
      const code = `
        import { artefactPutBytes, artefactList } from ${JSON.stringify(module)}
        await artefactPutBytes(Buffer.from('x'))
        console.log((await artefactList()).length)`
      const options = { env: { ...process.env, TMPDIR: folder }, timeout: 50_000 }
      const flags = ['--input-type=module-typescript', '-e', code]
      const { stdout, status } = spawnSync(process.execPath, flags, options)
      expect([status, stdout.toString()]).to.deep.equal([0, '1\n'])
      expect(fs.readdirSync(folder)).to.deep.equal([`dcc-mcp-artefacts-${uid}`])
    }))
})
