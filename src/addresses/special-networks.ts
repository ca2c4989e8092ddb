/**
 * The networks of the internet protocols that are not the public internet. Sources: IANA's registries of special-purpose
 * IPv4 and IPv6 addresses, and the documentation of clouds for their metadata and service addresses.
 */

/** What an address is for. */
export type AddressRange =
  | 'public'
  /** This machine: loopback, and the unspecified address, which connects to this machine too. */
  | 'loopback'
  /** A network of an organisation, a provider or a machine. */
  | 'private'
  /** Reserved, documentation or benchmark addresses: nobody on the internet has them. */
  | 'reserved'
  | 'linkLocal'
  /** Serves credentials or configuration to the machines of a cloud. */
  | 'metadata'
  | 'multicast'
  | 'broadcast';

/** Each network with its range. For an address in several networks, the first row counts. */
export const specialIpv4: readonly (readonly [network: string, range: AddressRange])[] = [
  // Fixed service addresses of clouds, outside the link-local network.
  ['100.100.100.200/32', 'metadata'],
  ['168.63.129.16/32', 'metadata'],
  ['192.0.0.192/32', 'metadata'],
  // RFC 1122, 791: "this network"; connecting to 0.0.0.0 reaches this machine.
  ['0.0.0.0/32', 'loopback'],
  ['0.0.0.0/8', 'reserved'],
  ['10.0.0.0/8', 'private'], // RFC 1918
  ['100.64.0.0/10', 'private'], // RFC 6598
  ['127.0.0.0/8', 'loopback'], // RFC 1122
  ['169.254.0.0/16', 'linkLocal'], // RFC 3927
  ['172.16.0.0/12', 'private'], // RFC 1918
  ['192.0.0.0/24', 'reserved'], // RFC 6890
  ['192.0.2.0/24', 'reserved'], // RFC 5737
  ['192.88.99.0/24', 'reserved'], // RFC 7526
  ['192.168.0.0/16', 'private'], // RFC 1918
  ['198.18.0.0/15', 'reserved'], // RFC 2544
  ['198.51.100.0/24', 'reserved'], // RFC 5737
  ['203.0.113.0/24', 'reserved'], // RFC 5737
  ['224.0.0.0/4', 'multicast'], // RFC 5771
  ['255.255.255.255/32', 'broadcast'], // RFC 919
  ['240.0.0.0/4', 'reserved'], // RFC 1112
];

/** The same for IPv6. An address in no row is reserved: IANA has given out 2000::/3 only. */
export const specialIpv6: readonly (readonly [network: string, range: AddressRange])[] = [
  // Fixed service addresses of clouds, outside the link-local network.
  ['fd00:42::42/128', 'metadata'],
  ['fd00:c1::/32', 'metadata'],
  ['fd00:ec2::/32', 'metadata'],
  ['fd20:ce::254/128', 'metadata'],
  ['::/128', 'loopback'], // RFC 4291; connecting to it reaches this machine
  ['::1/128', 'loopback'], // RFC 4291
  ['2001:db8::/32', 'reserved'], // RFC 3849
  ['2001:10::/28', 'reserved'], // RFC 4843
  ['2001:20::/28', 'reserved'], // RFC 7343: identifiers, not routed
  ['2001:2::/48', 'reserved'], // RFC 5180
  ['3fff::/20', 'reserved'], // RFC 9637
  ['5f00::/16', 'private'], // RFC 9602: segments of one network
  ['fc00::/7', 'private'], // RFC 4193
  ['fe80::/10', 'linkLocal'], // RFC 4291
  ['fec0::/10', 'private'], // RFC 3879
  ['ff00::/8', 'multicast'], // RFC 4291
  ['2000::/3', 'public'], // RFC 4291
];
