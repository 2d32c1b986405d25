import { freezeAll } from '../resources/scheme-producer.ts'
import type { Descriptor, Template } from '../resources/producer.ts'

export const instancesUri = 'gateway://instances'
export const processUri = 'gateway://diagnostics/process'
const auditUri = 'gateway://diagnostics/audit'
export const metricsUri = 'gateway://diagnostics/metrics'
export const catalogUri = 'gateway://catalog'
const eventsUri = 'resources://gateway/events'

const json = 'application/json'
const audience = ['user', 'assistant'] as const

/** The root pointers: all that is listed. Single instances and entries are read by their URI. */
export const rootDescriptors: readonly Descriptor[] = freezeAll([
  {
    uri: instancesUri,
    name: 'Running instances',
    title: 'Running instances',
    description:
      'Every application instance on this machine: what it is, in which state, and the mcp_url for a session with it',
    mimeType: json,
    annotations: { audience, priority: 0.9 },
  },
  {
    uri: processUri,
    name: 'Gateway process',
    title: 'Gateway process',
    description:
      'The process of the gateway, and how many instances are live, stale, unhealthy or dead, with the reason for each',
    mimeType: json,
    annotations: { audience, priority: 0.3 },
  },
  {
    uri: auditUri,
    name: 'Gateway activity',
    title: 'Gateway activity',
    description: 'Calls pending at this gateway and subscriptions to its resources',
    mimeType: json,
    annotations: { audience, priority: 0.2 },
  },
  {
    uri: metricsUri,
    name: 'Gateway metrics',
    title: 'Gateway metrics',
    description: 'Live instances and time-outs; the gateway publishes no tools of the instances',
    mimeType: json,
    annotations: { audience, priority: 0.2 },
  },
  {
    uri: catalogUri,
    name: 'Catalog',
    title: 'Catalog',
    description: 'Adapters, skills and plug-ins for applications; ?query=WORDS searches them',
    mimeType: json,
    annotations: { audience, priority: 0.5 },
  },
])

export const gatewayTemplates: readonly Template[] = freezeAll([
  {
    uriTemplate: `${instancesUri}{?dcc_type,query,status,include_stale,include_dead,verbose,limit,offset}`,
    name: 'Instances, filtered',
    title: 'Instances, filtered',
    description: 'Of one kind, in one state, or with a text in name, id, version or scene',
    mimeType: json,
  },
  {
    uriTemplate: `${instancesUri}/{instance_id}`,
    name: 'One instance',
    title: 'One instance',
    description: 'By its id or by the first digits of it, at least 4, dead ones too',
    mimeType: json,
  },
  {
    uriTemplate: `${processUri}{?dcc_type}`,
    name: 'Gateway process, for one kind of application',
    title: 'Gateway process, for one kind of application',
    mimeType: json,
  },
  {
    uriTemplate: `${catalogUri}{?query,limit,offset}`,
    name: 'Catalog, searched',
    title: 'Catalog, searched',
    description: 'Best matches in name, application, tags and description first',
    mimeType: json,
  },
  {
    uriTemplate: `${catalogUri}/{name}`,
    name: 'One catalog entry',
    title: 'One catalog entry',
    description: 'By its exact name',
    mimeType: json,
  },
])

export const eventTemplates: readonly Template[] = freezeAll([
  {
    uriTemplate: `${eventsUri}{?limit}`,
    name: 'Gateway events',
    title: 'Gateway events',
    description:
      'Elections, takeovers, instances that came and went; one JSON object a line, newest last',
    mimeType: 'application/jsonl',
  },
])
