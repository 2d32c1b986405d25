import { expect } from 'chai'
import { registryWords, warningsOf } from '../../../src/commands/mcp-config/settings.ts'
import { selectStateDirectory } from '../../../src/lib/config/paths.ts'

describe('settings of mcp-config', () => {
  it('passes --registry-dir when the client may resolve another default', () => {
    const usual = selectStateDirectory(undefined, {})
    expect(registryWords(usual, { TMPDIR: '' })).to.deep.equal([])
    expect(registryWords('/elsewhere', {})).to.deep.equal(['--registry-dir', '/elsewhere'])
    for (const name of ['TMPDIR', 'TMP', 'TEMP']) {
      const env = { [name]: '/var/folders/x' }
      expect(registryWords(usual, env)).to.deep.equal(['--registry-dir', usual])
    }
  })

  it('warns about a program in the npx cache', () => {
    const warn = (path: string) =>
      warningsOf({ url: 'http://[::1]/mcp', keyed: false, bridge: ['node', path, 'connect'] })
    expect(warn('/home/me/.npm/_npx/1f/node_modules/service-cli/bin/run.js')[0]).to.include('npx')
    expect(warn('C:\\npm-cache\\_npx\\1f\\bin\\run.js')).to.have.length(1)
    expect(warn('/usr/lib/node_modules/service-cli/bin/run.js')).to.deep.equal([])
  })
})
