/** Before every path of the registry API. Apart, so that the client need not load the schemas. */
export const apiPrefix = '/api/v1/auth'
