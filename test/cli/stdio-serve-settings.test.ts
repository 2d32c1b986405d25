import { expect } from 'chai'
import { readServeStdioSettings } from '../../src/commands/stdio/serve-settings.ts'
import { givenMembers } from '../helpers/given-members.ts'
import { makeKeys } from '../helpers/keyed-server.ts'

describe('readServeStdioSettings', () => {
  const flags = {
    port: 8765,
    host: '127.0.0.1',
    'dcc-type': 'unknown',
    'no-artefacts': false,
    'allow-unauthenticated': false,
    json: false,
  }

  it('requires a key when named keys exist', async () => {
    const keys = await makeKeys()
    try {
      const key = await keys.create('anna')
      const env = { XDG_CONFIG_HOME: keys.folder }
      const without = await readServeStdioSettings(flags, ['stdio'], env).catch(error => error)
      expect(without).to.include({ code: 'config_invalid' })
      expect(without.hint).to.contain('SERVICE_MCP_API_KEY')
      const { serve } = await readServeStdioSettings(flags, [], {
        ...env,
        SERVICE_MCP_API_KEY: key,
      })
      const auth = { mode: 'api-key', key, keysFile: keys.store.path }
      expect(givenMembers(serve)).to.have.deep.property('auth', auth)
    } finally {
      await keys.remove()
    }
  })

  it('refuses OAuth', async () => {
    const oauth = { auth: 'oauth', 'oauth-issuer': 'https://login.example' } as const
    const refused = await readServeStdioSettings({ ...flags, ...oauth }, [], {}).catch(
      error => error,
    )
    expect(refused).to.include({ code: 'usage_invalid' })
  })

  it('chooses a free port and any application, unless they are given', async () => {
    const plain = await readServeStdioSettings(flags, ['stdio'], {})
    expect(plain.serve.port).to.equal(0)
    expect(plain.dccType).to.equal(undefined)
    const given = await readServeStdioSettings(
      { ...flags, 'dcc-type': 'maya' },
      ['port', 'dcc-type', 'registry-dir', 'scene-file'],
      {},
    )
    expect(given.serve.port).to.equal(8765)
    expect(given.dccType).to.equal('maya')
    expect(given.ownOnly).to.deep.equal(['--port', '--scene-file'])
  })
})
