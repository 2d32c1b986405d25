import { expect } from 'chai'
import { selectAccountsServer } from '../../../src/lib/accounts/select-server.ts'

describe('selectAccountsServer', () => {
  const option = 'https://option.example'
  const variable = 'https://variable.example'
  const file = 'https://file.example'
  type Given = [option: string | undefined, variable: string | undefined, file: string | undefined]
  const cases: [given: Given, url: string, source: string][] = [
    [[option, variable, file], option, '--registry'],
    [[undefined, variable, file], variable, 'SERVICE_REGISTRY'],
    [['', variable, file], variable, 'SERVICE_REGISTRY'],
    [[undefined, '  ', file], file, 'default_registry in /c.toml'],
    [[undefined, undefined, undefined], 'http://127.0.0.1:8780', 'the built-in default'],
    [[undefined, '', ''], 'http://127.0.0.1:8780', 'the built-in default'],
  ]
  it('takes the only login of the file before the built-in default, after everything named', () => {
    const only = { onlyLogin: 'https://only.example', filePath: '/c.toml' }
    const absent = { option: undefined, variable: undefined, file: undefined }
    expect(selectAccountsServer({ ...absent, ...only }).url).to.equal(only.onlyLogin)
    expect(selectAccountsServer({ ...absent, ...only, file }).url).to.equal(file)
  })

  for (const [given, url, source] of cases) {
    it(`takes ${source} of ${JSON.stringify(given)}`, () => {
      const [option, variable, file] = given
      const choice = selectAccountsServer({ option, variable, file, filePath: '/c.toml' })
      expect(choice.url).to.equal(url)
    })
  }
})
