import { expect } from 'chai'
import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type ArtefactOptions,
  artefactGetBytes,
  artefactList,
  artefactPutBytes,
  artefactPutFile,
  artefactRootIn,
  defaultArtefactRoot,
} from '../../../src/server/artefacts/helpers.ts'
import { ResourceNotFound, ResourceUriInvalid } from '../../../src/server/resources/errors.ts'
import { errnoOf } from '../../../src/lib/util/errors.ts'
import { failureOf } from '../../helpers/failure.ts'
import { newFolder } from '../../helpers/cleanup.ts'
import { sha256 } from './support.ts'

/** What keeps this process alive; requests end by themselves. */
const alive = () => process.getActiveResourcesInfo().filter(kind => !kind.includes('Req'))

describe('artefact helpers', () => {
  it('put, list and get a large file, and keep no process alive', async () => {
    const folder = newFolder()
    const root = artefactRootIn(folder)
    const bytes = randomBytes(3_000_000)
    await fs.promises.writeFile(join(folder, 'chair.glb'), bytes)
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
    expect(Buffer.from(await artefactGetBytes(file.uri, { root })).equals(bytes)).to.equal(true)
    expect(alive()).to.have.members(before)
  })

  it('say what is wrong, and store nothing then', async () => {
    const root = newFolder()
    const absent = `artefact://sha256/${'0'.repeat(64)}`
    const missing = await failureOf(() => artefactGetBytes(absent, { root }))
    expect(missing).to.be.instanceOf(ResourceNotFound)
    const malformed = await failureOf(() => artefactGetBytes('artefact://x', { root }))
    expect(malformed).to.be.instanceOf(ResourceUriInvalid)
    const nothing = artefactPutFile(join(root, 'nothing'), { root })
    expect(await nothing.catch(errnoOf)).to.equal('ENOENT')
    const unknown: object = { displayname: 'x' }
    const wrong: [options: ArtefactOptions, member: string][] = [
      [{ mime: 'png' }, 'mime'],
      [{ displayName: 'a\nb' }, 'display_name'],
      [{ sessionId: 'x'.repeat(256) }, 'session_id'],
      [{ expiresAt: 'tomorrow' }, 'expires_at'],
      [{ expiresAt: new Date(0) }, 'expires_at'],
      [{ metadata: 'x'.repeat(65_535) }, 'metadata'],
      [{ metadata: deep(65) }, 'metadata'],
      [unknown, 'displayname'],
    ]
    for (const [options, member] of wrong) {
      const put = () => artefactPutBytes(new Uint8Array(1), { root, ...options })
      const { code, message } = await failureOf(put)
      expect([code, message.includes(member)], message).to.deep.equal(['body_invalid', true])
    }
    expect(await artefactList({ root })).to.deep.equal([])
  })

  it('use a folder of the user by default', () => {
    const uid = process.geteuid?.() ?? 0
    expect(defaultArtefactRoot()).to.equal(join(tmpdir(), `dcc-mcp-artefacts-${uid}`))
  })
})

function deep(levels: number): unknown {
  return levels === 0 ? 0 : [deep(levels - 1)]
}
