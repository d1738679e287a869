/** Who reads a file of trusted certificates from where: OpenSSL, Node, requests, curl, git. */
export const CERTIFICATE_VARIABLES = [
  'SSL_CERT_FILE',
  'NODE_EXTRA_CA_CERTS',
  'REQUESTS_CA_BUNDLE',
  'CURL_CA_BUNDLE',
  'GIT_SSL_CAINFO',
] as const;

/** A run's own, in its own network: what it starts there it reaches without a proxy. */
export const LOOPBACK = ['localhost', '127.0.0.1', '::1'] as const;
