import { expect } from 'chai'
import { execFileSync } from 'node:child_process'
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
import { ResourceNotFound, ResourceUriInvalid } from '../../../src/server/resources/errors.ts'
import { failureOf } from '../../helpers/failure.ts'
import { withFolder } from '../../helpers/folder.ts'
import { sha256 } from './support.ts'

/** What keeps this process alive; requests end by themselves. */
const alive = () => process.getActiveResourcesInfo().filter(kind => !kind.includes('Req'))

describe('artefact helpers', () => {
  it('put, list and get a large file, and keep no process alive', () =>
    withFolder(async folder => {
      const root = artefactRootIn(folder)
      const bytes = randomBytes(3_000_000)
      fs.writeFileSync(join(folder, 'chair.glb'), bytes)
      const before = alive()
      const file = await artefactPutFile(join(folder, 'chair.glb'), { root, mime: 'model/gltf' })
      expect(file).to.include({ uri: `artefact://sha256/${sha256(bytes)}`, mime: 'model/gltf' })
      expect(file.display_name).to.equal('chair.glb')
      const other = await artefactPutBytes(Buffer.from('x'), { root, sessionId: 's' })
      expect(await artefactList({ root })).to.have.deep.members([file, other])
      expect(await artefactList({ root, sessionId: 's' })).to.deep.equal([other])
      expect(await artefactList({ root, mime: 'model/gltf', jobId: 'j' })).to.deep.equal([])
      const { created_at: createdSince } = other
      expect(await artefactList({ root, createdSince })).to.deep.include(other)
      const wrong = { root, createdSince: 'x' }
      expect((await failureOf(() => artefactList(wrong))).code).to.equal('body_invalid')
      expect(Buffer.from(await artefactGetBytes(file.uri, { root })).equals(bytes)).to.equal(true)
      expect(alive()).to.have.members(before)
    }))

  it('say what is wrong, and refuse a named pipe and a device at once', () =>
    withFolder(async root => {
      const absent = `artefact://sha256/${'0'.repeat(64)}`
      const missing = await failureOf(() => artefactGetBytes(absent, { root }))
      expect(missing).to.be.instanceOf(ResourceNotFound)
      const malformed = await failureOf(() => artefactGetBytes('artefact://x', { root }))
      expect(malformed).to.be.instanceOf(ResourceUriInvalid)
      const pipe = join(root, 'pipe')
      execFileSync('mkfifo', [pipe])
      const wrong = [
        [join(root, 'nothing'), 'ENOENT'],
        [root, 'not a regular file'],
        [pipe, 'not a regular file'],
        ['/dev/zero', 'not a regular file'],
      ] as const
      for (const [path, reason] of wrong) {
        const failure = await failureOf(() => artefactPutFile(path, { root }))
        expect(failure.code).to.equal('body_invalid')
        expect(failure.message).to.equal(`cannot store the file ${path}: ${reason}`)
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

  it('use a folder of the user by default', () => {
    const uid = process.geteuid?.() ?? 0
    expect(defaultArtefactRoot()).to.equal(join(tmpdir(), `dcc-mcp-artefacts-${uid}`))
  })
})
