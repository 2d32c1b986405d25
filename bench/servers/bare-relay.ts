/** What a second hop costs at least: every request goes on to another server as it came. */
import http from 'node:http'
import https from 'node:https'
import { listenAndAnnounce } from './announce.ts'

const to = process.env.BENCH_RELAY_TO ?? ''
const { request, Agent } = to.startsWith('https:') ? https : http
const agent = new Agent({ keepAlive: true, rejectUnauthorized: false })

listenAndAnnounce((req, res) => {
  const { method, url, headers } = req
  const onward = request(new URL(url ?? '', to), { method, headers, agent }, answer => {
    res.writeHead(answer.statusCode ?? 502, answer.headers)
    answer.pipe(res)
  })
  onward.on('error', () => res.destroy())
  req.pipe(onward)
})
