#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_arp.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "capture_ring.h"
#include "raw_socket.h"

enum {
  FRAME = 256, /* frame of the ring: header, address and 160 bytes of a packet */
  BLOCK = 64 * 1024,
  BLOCKS = 8,
  FRAMES = BLOCKS * BLOCK / FRAME, /* 2048 packets */
  RECORD = 20,                     /* header of a record in the result */
};

void close_ring(capture *one) {
  if (one->ring != NULL) munmap(one->ring, BLOCKS * BLOCK);
  if (one->fd >= 0) close(one->fd);
  one->ring = NULL;
  one->fd = -1;
}

int attach_filter(int fd, void *program, size_t instructions) {
  struct sock_fprog filter = {(unsigned short)instructions, program};
  return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) == 0 ? 0 : -errno;
}

int open_ring(capture *one, void *program, size_t instructions, const char *helper) {
  /* No protocol yet: nothing arrives before the filter is attached. */
  one->fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (one->fd < 0) {
    if (errno != EPERM || helper[0] == '\0') return -errno;
    int given = open_by_helper(helper, AF_PACKET);
    if (given < 0) return given;
    one->fd = given;
  }
  int version = TPACKET_V2;
  struct tpacket_req request = {
      .tp_block_size = BLOCK, .tp_block_nr = BLOCKS, .tp_frame_size = FRAME, .tp_frame_nr = FRAMES};
  int error = attach_filter(one->fd, program, instructions);
  if (error != 0) return error;
  if (setsockopt(one->fd, SOL_PACKET, PACKET_VERSION, &version, sizeof version) != 0 ||
      setsockopt(one->fd, SOL_PACKET, PACKET_RX_RING, &request, sizeof request) != 0) {
    return -errno;
  }
  void *ring = mmap(NULL, BLOCKS * BLOCK, PROT_READ | PROT_WRITE, MAP_SHARED, one->fd, 0);
  if (ring == MAP_FAILED) return -errno;
  one->ring = ring;
  struct sockaddr_ll everywhere = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
  return bind(one->fd, (struct sockaddr *)&everywhere, sizeof everywhere) == 0 ? 0 : -errno;
}

static void put32(uint8_t *at, uint32_t value) { memcpy(at, &value, sizeof value); }

/*
 * Whether a frame holds a packet for the result. Loopback shows each packet twice: when it leaves and when it
 * arrives.
 */
static bool is_packet(const struct tpacket2_hdr *frame, const struct sockaddr_ll *address) {
  if (frame->tp_snaplen == 0 || frame->tp_net + frame->tp_snaplen > FRAME) return false;
  return address->sll_hatype != ARPHRD_LOOPBACK || address->sll_pkttype != PACKET_OUTGOING;
}

int read_ring(capture *one, uint8_t **result, size_t *size) {
  struct tpacket_stats stats = {0};
  socklen_t stats_size = sizeof stats;
  getsockopt(one->fd, SOL_PACKET, PACKET_STATISTICS, &stats, &stats_size);
  uint8_t *out = malloc(4 + (size_t)FRAMES * (RECORD + FRAME));
  if (out == NULL) return -ENOMEM;
  put32(out, stats.tp_drops);
  size_t at = 4;
  for (size_t i = 0; i < FRAMES; i++) {
    const struct tpacket2_hdr *frame = (const void *)(one->ring + i * FRAME);
    if ((__atomic_load_n(&frame->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER) == 0) break;
    const struct sockaddr_ll *address = (const void *)((const uint8_t *)frame + TPACKET_ALIGN(sizeof *frame));
    if (!is_packet(frame, address)) continue;
    uint16_t captured = (uint16_t)frame->tp_snaplen;
    put32(out + at, frame->tp_sec);
    put32(out + at + 4, frame->tp_nsec);
    put32(out + at + 8, frame->tp_len);
    memcpy(out + at + 12, &captured, sizeof captured);
    out[at + 14] = address->sll_pkttype;
    out[at + 15] = 0;
    put32(out + at + 16, (uint32_t)address->sll_ifindex);
    memcpy(out + at + RECORD, (const uint8_t *)frame + frame->tp_net, captured);
    at += RECORD + captured;
  }
  *result = out;
  *size = at;
  return 0;
}
