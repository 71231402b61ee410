"""Numbers in documents that are no result: the set-up, printed numbers, definitions."""

from collections.abc import Mapping, Sequence

# Document -> phrases; `*` for all of them.
SETTINGS: Mapping[str, Sequence[str]] = {
    "*": (
        "CIFAR-10",
        "GPT-2's",
        "exit status 2",
        "of a JPEG copy of CIFAR-10 (quality 75, colour at half resolution), 30 dB",
        "95 % interval",
        "batches of 128",
        "batches of 8",
        "(batches of 50)",
    ),
    "docs/reproduce.md": (
        "like it after 40,000;",
        "a schedule designed for 200 epochs",
        "the 99 % interval of measured minus predicted",
    ),
    "docs/faq.md": ("with its 99 % interval",),
    "docs/programs.md": ("UTF-8", "of the 99 % interval"),
    "README.md": (
        "Python 3.11",
        "in ResNet-20 after",
        "(0.05, momentum 0.9)",
        "batch size 1, 1 x 1 maps",
        "CIFAR-10 shape, batch 128",
        "batch 60: an MLP of three layers of 100.",
    ),
    "docs/probes.md": (
        "rate / norm^2",
        "van Laarhoven 2017, arXiv:1706.05350",
    ),
    "arpit2016_table": (
        "in 500 updates at the learning rate that was best of five after 200",
        "means are nearer to 0 than",
        "after 500 updates",
    ),
    "cooijmans2017_gamma": ("at every step from 0.3 on", "for gammas from 0.5 up"),
    "cooijmans2017_gamma_training": ("From gamma 0.3", "than from 0.1", "Over 49 time steps", "the paper's 784"),
    "mishkin2016": ("fell to 0.008 and 0.0016",),
    "which_norm": (
        "that was tried, 0.0125; 0.05 fell out after 176 steps",
        "chose 0.05, and at 0.0125 it was",
        "after 704 steps",
    ),
    "law_batch_norm_explosion": ("pi / (pi - 1) times (B - 2) / (B - 3), fails at B = 256",),
    "law_equilibrium": ("is (1 + drift) times",),
    "mnist1d": ("68 % of the text",),
    "which_norm_gpt": (
        "at a learning rate of 0.256",
        "the rate that the trials chose, 0.016",
        "had the lower loss at 0.004",
        "chosen now, 0.256",
    ),
    "law_least_squares": (
        "from 0.001 to 1 the updates become fewer",
        "above 10, where the first step",
        "From 1 to 10 they grow less",
        "rate of 1 costs",
    ),
    "law_orthogonalization": ("the theory's -1/2. The printed -0.46 is",),
    "law_layer_norm_scaling": ("behind 24 layers", "the square of layer 1"),
    "law_weight_distance": (
        "From the 16th update",
        "down to 0.59",
        "ends at 0.71",
    ),
    "law_norm_placement": ("more than the 6 % that the law allows",),  # 1 / 16
    "law_rezero": ("2.9 depth / width", "2.3 depth / width"),
    "law_selectable_keys": ("The 32 to 51 % of our notes", "At 8 dimensions"),
    "inference_cost": ("a prediction of 128 images",),
    "ioffe2015_table": ("31 million steps",),
    "salimans2016_beta1": ("After 100 epochs",),
    "salimans2016_table1": (
        "At 0.003 the",
        "beta1 goes from 0.9 to 0.5",
        "with beta1 at 0.9",
        "a change after 100 epochs and here after 7.5",
        "that 0.0003 works better than 0.003",
        "parameterization at 0.0003 is",
        "after 1,500 updates",
        "After 7.5 of 15 epochs of 10,000 images",
    ),
    "which_norm_small": ("deviation 1,", "Batches of 8", "8 images of 64 positions", "with 2 images"),
}

# The other numbers of a page or of an experiment's deviations, in their order: measured by hand, as the page says, of
# the set-up, or printed. No record has them, nothing computes them again: they are here so that none changes unseen.
BY_HAND: Mapping[str, str] = {
    "docs/gpu.md": "2.11 2026",
    "docs/cluster.md": "60 60 30 2 10 90 64 60",
    "docs/data.md": (
        "8 601 8 1.003 1.003 1003 100 8 2 24 4 0 0.2 1 0 97.5 97.8 98.9 97.8 98.9 89.4 89.4 91.2 88.2 90.3 82.8 93.9 "
        "85.0 100 98.5 99.7 62.7 57.1 56.7 62.9 63.5 60.0 55.7 0.02 53.3 50.8 2,000 1.1 20 45,000 14 128 82.8 0 82.7 "
        "80.6 81.6"
    ),
    "docs/diagnose.md": "1 0 0 1 0 16 1 1 1 0.25 2 2 2 1 16 32 32 64 0 1",
    "docs/faq.md": "32 128 32 8 4 1",
    "docs/index.md": "3",
    "docs/performance.md": (
        "24 48 38 0 32 60 2.15 176 704 2,288 0.13 17,550 0.65 704 176 0.17 704 0.20 0.05 0.2 "
        "2.4 0.1 5.0 0.6 4.1 0.2 176 1.51 0.95 2.06 704 1.04 0.22 1.86 0 128 192 16 16 0 32 2 17 100"
    ),
    "docs/programs.md": "0 1 2 130 1 95",
    "docs/reliability.md": (
        "8 1 0 1 18 6 6 60 2,000 512 4.1 627 4.1 "
        "150 57 74 51 47 20 34 76 88 23 20 31 13 27 76 67 40 100 200 400 150 "
        "11 10,000 0.6 9.9 490 14.7 4.9 4.3 10,000 5.4 101 9.0 678 2.15 527 100 76 12 0.8 1.2 30,000 15 11"
    ),
    "docs/runs.md": "4 0",
    "docs/scale.md": (
        "100,000 1,000 36 1,000 80 10,000 500 100,000 10,000 500 100,000 256 1,000 1,000 17 "
        "300 10 140 17 34 600 170 850 1,500 64 900 100 64 2 900 10 11,500 10 1,000 1,000 100,000 1,000 100,000 "
        "10,000 3,000"
    ),
    "docs/transformers.md": (
        "1,115,394 8 256 2,000 12 768 1,024 50,257 124,439,808 1 2 2 1 4 1 4 0 0 0 0 2,000 64 8 8 51"
    ),
    "docs/which_norm.md": "20 0.2 0.05",
    "arpit2016_batch_size_1/deviations": "8 8 12 18 50,000",
    "arpit2016_data_normalization/deviations": "16 50,000",
    "arpit2016_optimizers/deviations": "8 8 16 2 50,000",
    "arpit2016_table/deviations": "60 2015 8 8 16 50,000",
    "arpit_weight_norm_initialization/deviations": "100 50 500",
    "ba2016_figure2/deviations": "5,000 120 28 54 65,829",
    "ba2016_figure2_babi/deviations": "240 800,000 5,000 120",
    "ba2016_figure6/deviations": "0.001 8 8 0.4",
    "batch_collision/deviations": "8 4 5",
    "batch_norm_and_dropout/deviations": "8 8 1.3",
    "batch_norm_placement/deviations": "8 8 320,000 256 0.7",
    "batch_or_layer": "4 128 4 2",
    "batch_or_layer/deviations": "256 0.7",
    "conditioning/deviations": "700",
    "conditioning_cifar10/deviations": "5",
    "conditioning_digits/deviations": "8 8 5",
    "cooijmans2017_gamma/deviations": "8 8 64 784 5 2 0 4 39 40",
    "cooijmans2017_gamma_training/deviations": "0.9 8 8 2 49 28 28 784",
    "cooijmans2017_sequential_mnist/deviations": "0.9 5,000 8 8 2 49 28 28 784",
    "deep_chain/deviations": "2 100 5",
    "deeper_networks": "32 8 32 8",  # layers
    "deeper_networks/deviations": "8 8",
    "derf_start/deviations": "5 9 29 10 30",
    "digits_five_schemes/deviations": "2 360",
    "digits_rates_grid/deviations": "2",
    "dynamic_tanh_start/deviations": "0 11 20 20",
    "dyt2025/deviations": "30,000 750",
    "ferreira2024_exercises/deviations": "5 6",
    "gentler_noise/deviations": "1",  # a seed
    "hoffer2017_f1": "1 0 1",
    "hoffer2017_f1/deviations": "2,048 96 60,000 468 2,656 14 8 8",
    "hoffer2017_f1_gains/deviations": "2,048 96 60,000 468 2,656 14 8 8",
    "inference_cost/deviations": "19,000 344,000 21,500 9 0 4 13 24 24",
    "ioffe2015_figure1": "10,000 12.5 0.02 10,000",
    "ioffe2015_figure1/deviations": "8 8 4 101 110 15 201 210 18 35 35 4 101 110 15 0.051 15 25",
    "ioffe2015_rates": "12.5 62.5 0.5 0.5 1",
    "ioffe2015_rates/deviations": "8 8 50,000",
    "ioffe2015_table/deviations": "1.6 13.6 40 8 8 8 37 20 37 20 8 31 0.6",
    "law_batch_norm_explosion/deviations": "20 40",
    "law_gradient_projection/deviations": "6 100 2,000",
    "law_largest_rate/deviations": "100 102 110",
    "law_layer_norm_scaling/deviations": "2 1000 1149",
    "law_least_squares/deviations": "50,000 6 9,000",
    "law_norm_placement/deviations": "0 11 16 16",
    "law_orthogonalization/deviations": "800 500",
    "law_rezero/deviations": "100 102",
    "law_update_noise/deviations": "60,000 100 101 8 8",
    "law_weight_distance/deviations": "4,096 4,690 8 8 900 8 8",
    "ln_invariances/deviations": "3",
    "ln_variable_length/deviations": "2",
    "mnist1d/deviations": "2.58 1,000 94",
    "moving_input/deviations": "9 45",
    "normprop_jacobian/deviations": "500",
    "online_fashion_mnist/deviations": "20 400 8 8",
    "running_statistics/deviations": "64 0.00001 5",
    "salimans2016_beta1/deviations": "2 750 50,000",
    "salimans2016_cost/deviations": "16 8 8",
    "salimans2016_table1/deviations": "500 50,000 1,500 100,000 3 1,500 100,000 5",
    "statistics_leakage/deviations": "1000 5 20",
    "vit_norms": "0.7 0.2 51 87 86",
    "vit_norms/deviations": "1,257 5 9 14 51 51",
    "which_norm": "704 0.2 0.05 0.05 0.0125 176 704",
    "which_norm_better_rates": "0.05 0.2",
    "which_norm_long/deviations": "85",
    "which_norm_longest/deviations": "88",
    "which_norm_one_rate": "0.05 0.2 0.2 0.05",
    "which_norm_rates": "176 704 0.8",
    "which_norm_small/deviations": "0 4 11 5 22",
    "which_norm_third_rates": "0.2 0.05 0.05 0.05 0.2 0.05",
    "which_norm_third_rates/deviations": "704",
    "which_norm_third_seeds": "0.05 0.2 0.2 0.05",
    "which_norm_third_seeds/deviations": "8 8",
    "which_norm_third_warmup": "0.2 0.2 0.05 0.05 0.2",
    "which_norm_third_warmup/deviations": "704",
    "which_norm_whole_rates": "0.2 704 0.05 0.2 176 0.2 0.8 0.2 0.0125 0.05 704 0.2",
    "which_norm_whole_rates/deviations": "3.2 704",
    "wu2018_batch_size/deviations": "64 7 7 128 98",
    "xiong2020_warmup/deviations": "17 33 24",
    "zhang2017/deviations": "8 8",
}

# Phrases of a set-up that give a number to what another key, or none, sets.
SPOKEN: Mapping[str, Sequence[str]] = {
    "arpit2016_optimizers": ("100 updates",),
    "arpit2016_table": ("400 updates",),  # rungs of the choice, here and below
    "arpit2016_data_normalization": ("rate of 0.1", "1,000 held-out"),  # of a choice that is not among the records
    "batch_norm_placement": ("150 steps",),
    "cooijmans2017_gamma_training": ("49 steps",),  # 7 x 7 pixels
    "cooijmans2017_sequential_mnist": ("49 steps",),
    "ioffe2015_table": ("2,000 steps",),
    "law_equilibrium": ("100 updates",),  # the study's window
    "law_largest_rate": ("2 updates",),  # a formula with the number of updates
    "vit_norms": ("600 steps",),
    "which_norm_rates": ("176 steps",),
}

# The numbers of a set-up, in their order, that no key has: they follow from several (45,000 = 50,000 - 5,000; 0.83 is
# E[1 - tanh(z / 2)^2]), are a constant of a study, a fact of the data, or the paper's own.
SET_UPS: Mapping[str, str] = {
    "hoffer2017_f1_gains": "1.1",
    "arpit2016_batch_size_1": "12",
    "arpit2016_data_normalization": "0.01 1,000",
    "ba2016_figure2": "120 10,000 0.01",
    "ba2016_figure2_babi": "9,000 0.01",
    "ba2016_figure6": "60",
    "arpit2016_optimizers": "400",  # of the choice
    "arpit2016_table": "50,000 1,600 11",
    "batch_collision": "0.5",
    "batch_norm_and_dropout": "12 24",  # an eighth of 96 and 192
    "batch_norm_placement": "3.2 50,000 450",
    "cooijmans2017_gamma": "64 784 784 0.99 0.83 0.61",
    "cooijmans2017_gamma_training": "8 8 49 50,000",
    "cooijmans2017_sequential_mnist": "8 8 49 100,000 784 784 501",
    "deeper_networks": "55,000",  # all of Fashion-MNIST but 5,000
    "digits_five_schemes": "1,257",
    "dyt2025": "50,000 200,000 1,000,000",  # 32 characters a window
    "expressive_power": "96 2.2 15",  # BATCH of normexp.norms.checks.subject; rounding of float64
    "ferreira2024_exercises": "2 5",
    "gentler_noise": "4,096 102,400",  # UNITS of normexp.studies.batch_noise, times study.rounds
    "house_prices_sindian": "414 10,000 3.3 10,000 3.3 3.3",
    "incoherence": "0.125",  # 64^(-1/2)
    "ioffe2015_figure1": "50,000",
    "ioffe2015_table": "50,000 6,000",
    "law_batch_norm_explosion": "1.47",  # pi / (pi - 1)
    "law_decay_rate": "1,000 1,000",
    "law_gradient_projection": "6 2 100 30",
    "law_largest_rate": "2 1,024 2",
    "law_orthogonal_depth": "1988",
    "law_weight_distance": "4 4",
    "law_norm_placement": "2",
    "law_orthogonalization": "250 250",
    "law_residual_variance": "2",
    "law_rezero": "2.3 2.5 1.8 2.9 2.3",
    "law_selectable_keys": "12",
    "ln_invariances": "2.2 15",
    "ln_variable_length": "0.41 0.41",
    "mnist1d": "40 4,000 1,000",
    "mnist1d_schemes": "40 4,000",
    "nanogpt_cpu": "100",
    "normprop_constants": "95",
    "normprop_jacobian": "1.47 1.21",
    "norms_in_resnet": "16",
    "online_fashion_mnist": "400",
    "salimans2016_beta1": "6.3 50 50",  # the study's last updates, of two captions
    "salimans2016_cost": "16",
    "salimans2016_table1": "24 48 24 48 50,000",
    "scale_invariance": "24 96 19",
    "vit_norms": "1,500",
    "which_norm": "45,000",
    "which_norm_better_rates": "704 176",
    "which_norm_longest": "88",
    "which_norm_one_rate": "704",
    "which_norm_small": "156 2,500",
}

# The numbers of claims' texts, in their order, that neither claim, source, paper nor set-up have, and all those that
# stand in a formula (2 / curvature, N(0, 1)): which formula a study computes is not in its claim.
CLAIMS: Mapping[str, str] = {
    "conditioning": "1 1",
    "conditioning_cifar10": "1 1",
    "conditioning_digits": "1 1",
    "cooijmans2017_gamma": "784 1e-38 1e-38 0 784",  # pixels; the region has the logarithm of 1.18e-38, a little larger
    "deep_chain": "0.9 1.1",
    "ferreira2024_house_prices": "1116000 620 0.1",  # the lecture's; the study computes both again
    "law_batch_norm_explosion": "2 3 1 1 2 3",
    "law_equilibrium": "2 2 1 2 1 1 2 1 1 4",
    "law_largest_rate": "2 rate 2 1 256",  # 2^8, which the region allows for the last digits of
    "law_layer_norm_scaling": "1",
    "law_least_squares": "2",  # the region has its logarithm
    "law_norm_placement": "1 2",
    "law_orthogonalization": "1 2 250 1 2",  # the window of the study
    "law_residual_variance": "1",
    "law_rezero": "5 1 5 2 1.8 2.9 0",  # 1.8 and 2.9 of the law's tolerance
    "normprop_constants": "1 1 2 1 1 2 1 1 1",
    "normprop_jacobian": "10 10 20 1 1.21 1 1.21 20",  # 0.12 of 1.2; the study's depth
    "running_statistics": "1 1",
    "salimans2016_beta1": "0.5",  # of the arm that changes it
    "salimans2016_table1": "rate 0.0003",  # of the arm without its number
    "scale_invariance": "1",
    "weight_dynamics": "1 2 1 2 1 2 1 2",
}
