import { Command } from '@oclif/core'
import got from 'got'

export default class Me extends Command {
  async run() {
    const { BASE_URL: base, TOKEN: token } = process.env
    const headers = { authorization: `Bearer ${token}` }
    const { username } = await got(`${base}/api/v1/auth/me`, { headers }).json()
    this.log(username)
  }
}
