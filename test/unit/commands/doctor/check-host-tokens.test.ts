import { expect } from 'chai'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeRecord } from '../../../server/gateway/support.ts'
import { checkHostTokens } from '../../../../src/commands/doctor/check-host-tokens.ts'

describe('checkHostTokens', () => {
  const instanceId = '0f0e0d0c-1111-4222-8333-444455556666'
  const running = [{ instanceId, shortId: '0f0e0d0c', name: 'Blender 4.2' }]
  let folder: string
  let token: string

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'host-tokens-'))
    token = join(folder, `${instanceId}.token`)
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  const record = (file: string | null) =>
    writeFile(
      join(folder, `${instanceId}.json`),
      JSON.stringify(makeRecord({ instance_id: instanceId, host_token_file: file })),
    )

  it('names the instance and the file that was removed, and is ok once it is back', async () => {
    await record(token)
    const missing = await checkHostTokens(folder, running)
    expect(missing.status).to.equal('warn')
    expect(missing.details).to.deep.equal([`Blender 4.2 (0f0e0d0c): ${token} is missing`])
    await writeFile(token, 'the-token')
    expect((await checkHostTokens(folder, running)).status).to.equal('ok')
  })

  it('is ok for a token of the environment, and when nothing runs', async () => {
    await record(null)
    expect((await checkHostTokens(folder, running)).status).to.equal('ok')
    expect((await checkHostTokens(folder, [])).status).to.equal('ok')
  })
})
