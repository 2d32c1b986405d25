import { expect } from 'chai'
import { openWarning } from '../../../src/commands/open-warning.ts'

describe('openWarning', () => {
  const here = { host: '127.0.0.1' }
  const none = { mode: 'none' } as const
  const said = (
    settings: Parameters<typeof openWarning>[0],
    env: NodeJS.ProcessEnv = {},
  ): string | undefined => openWarning(settings, env)?.message

  it('says who can read from a server that asks for no key', () => {
    for (const settings of [here, { ...here, auth: none }]) {
      expect(said(settings)).to.equal(
        'no key is required: every account of this machine can read what it serves',
      )
    }
    const outside = [
      { host: '0.0.0.0' },
      { ...here, publicUrl: 'https://mcp.studio.example' },
      { ...here, trustedProxies: ['127.0.0.1'] },
    ]
    for (const settings of outside) expect(said(settings)).to.contain('everyone who can reach')
    expect(openWarning(here, {})).to.include({ level: 'info' })
    for (const settings of outside) expect(openWarning(settings, {})).to.include({ level: 'warn' })
  })

  it('says that a variable was meant to hold a key', () => {
    const warning = openWarning(here, { SERVICE_MCP_API_KEY: '' })
    expect(warning).to.include({ level: 'warn' })
    expect(warning?.message).to.contain('(SERVICE_MCP_API_KEY is set but empty)')
  })

  it('is silent about a server that asks', () => {
    const key = { mode: 'api-key', key: 'k', keysFile: '/r/keys.json' } as const
    const oauth = { mode: 'oauth', issuer: 'https://login.example' } as const
    for (const auth of [key, oauth]) expect(said({ host: '0.0.0.0', auth })).to.equal(undefined)
  })
})
