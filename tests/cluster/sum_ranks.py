"""What every process of a launch runs in the test of several nodes: the sum of all ranks, by torch."""

import torch
import torch.distributed as group

from helpseek.cluster.launch import join_launch

rank, size = join_launch()
group.init_process_group("gloo")
total = torch.tensor([rank])
group.all_reduce(total)
print(f"{'+'.join(map(str, range(size)))}={total.item()}")
