import { mkdir, stat, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { failureOf } from '../helpers/failure.ts'
import { serveInProcess } from '../helpers/in-process-servers.ts'
import { ask, initialize, RawSession } from '../helpers/mcp.ts'
import type { RunningServe } from '../helpers/serve-process.ts'
import { failure, readFailure, scene } from './support.ts'
import { newFolder } from '../helpers/cleanup.ts'

const unusedDir = newFolder()

const plainText = { 'Content-Type': 'text/plain' }

/** The program with the flags, for the tests of the section. */
function useServe(flags: string[]): { program: RunningServe } {
  const section = {} as { program: RunningServe }
  before(async () => {
    section.program = await serveInProcess({ flags: ['--quiet', ...flags] })
  })
  after(() => section.program?.stop())
  return section
}

describe('serve', () => {
  let program: RunningServe
  before(async () => (program = await serveInProcess({ env: { SERVICE_REGISTRY_DIR: unusedDir } })))

  it('prefers --registry-dir to SERVICE_REGISTRY_DIR, and keeps the folder private', async () => {
    expect((await stat(join(program.registryDir, 'instances'))).mode & 0o777).to.equal(0o700)
    expect(await stat(join(unusedDir, 'instances')).catch(() => null)).to.equal(null)
  })

  it('refuses a symbolic link as --registry-dir', async () => {
    const [real, link] = [join(unusedDir, 'real'), join(unusedDir, 'link')]
    await mkdir(real, { mode: 0o700 })
    await symlink(real, link)
    const error = await failureOf(() => serveInProcess({ registryDir: link }))
    expect(`${error.message} ${error.hint}`)
      .to.match(/symbolic link/)
      .and.match(/--registry-dir/)
  })
})

describe('serve --no-artefacts', () => {
  const section = useServe(['--no-artefacts'])

  it('reads none with −32002, and has no uploads and downloads', async () => {
    const { url, base, post } = section.program
    expect((await post('artefacts', 'x', plainText)).status).to.equal(404)
    const hex = 'a'.repeat(64)
    expect((await ask(`${base}/artefacts/sha256/${hex}`)).status).to.equal(404)
    const session = await RawSession.open(url)
    for (const uri of [`artefact://sha256/${hex}`, 'artefact://sha256/short']) {
      expect((await readFailure(session, uri)).code, uri).to.equal(-32002)
    }
  })
})

describe('serve --no-resources', () => {
  const section = useServe(['--no-resources'])
  const completion = {
    ref: { type: 'ref/resource', uri: 'audit://recent{?limit}' },
    argument: { name: 'limit', value: '' },
  }

  it('has −32601 for all methods of resources, templates and completion; ping stays', async () => {
    const session = await RawSession.open(section.program.url)
    for (const [method, params] of [
      ['resources/list', {}],
      ['resources/templates/list', {}],
      ['resources/read', { uri: scene }],
      ['resources/subscribe', { uri: scene }],
      ['resources/unsubscribe', { uri: scene }],
      ['completion/complete', completion],
    ] as const) {
      expect((await failure(session, method, params)).code, method).to.equal(-32601)
    }
    expect((await session.call('ping')).result).to.deep.equal({})
    const { result } = (await initialize(section.program.url)).json
    expect(result.capabilities).not.to.have.property('resources')
  })
})
